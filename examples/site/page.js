/* global Pulse */
const form = document.querySelector('form')
const status = document.querySelector('[role=status]')
const { publishableKey } = form.dataset

Pulse.init({ publishableKey, workflow: 'credit_application', sessionEndpoint: '/bond-session' })

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void submit()
})

async function submit() {
  const fields = {
    amount: form.amount.valueAsNumber,
    purpose: form.purpose.value,
    note: form.note.value,
  }
  form.inert = true
  status.textContent = await apply(fields)
  form.inert = false
}

/** Saves the draft, asks for the approval, and submits the form. Returns what the user reads. */
async function apply(fields) {
  const draft = await post('/drafts', fields)
  if (!draft.ok) return draft.body.error.message
  const bond = await Pulse.requireBond({ action: 'submit_application' })
  if (bond.state !== 'bonded' || !bond.sessionId) return 'Not approved. Nothing was sent.'
  const submitted = await post('/applications', { ...fields, session_id: bond.sessionId })
  return submitted.ok
    ? `Accepted. Your number is ${submitted.body.result}.`
    : submitted.body.error.message
}

async function post(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { ok: response.ok, body: await response.json() }
}
