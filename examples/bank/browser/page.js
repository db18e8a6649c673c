// @ts-check

/**
 * @typedef {{
 *   state: string, sessionId?: string | null, browserSecret?: string, reason?: string,
 * }} Bond
 * @typedef {{
 * init(options: { publishableKey: string, workflow: string, containerId: string, sessionEndpoint:
 *   string }): unknown, requireBond(options: { action: string, context: object, onRetry: () => void
 *   }): Promise<Bond>, }} Pulse
 * @typedef {{ status: number, body: any }} BankResponse
 */

const form = /** @type {HTMLFormElement} */ (element('application-form'))
const fieldset = /** @type {HTMLFieldSetElement} */ (element('fields'))
const button = /** @type {HTMLButtonElement} */ (element('continue'))
const { publishableKey = '', workflow = '', action = '' } = form.dataset
let isReady = false

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void apply()
})
for (const input of /** @type {NodeListOf<HTMLInputElement>} */ (
  form.querySelectorAll('[data-euros]')
))
  input.addEventListener('change', () => (input.value = formatEuros(input.value)))

/** Draft, approval, application: in this order, and each only when the previous step succeeded. */
async function apply() {
  const fields = Object.fromEntries(new FormData(form))
  clearErrors()
  element('result').hidden = true
  lock(true)
  say('Checking the form…')
  const draft = await post('/drafts', fields)
  if (draft.status !== 200) {
    lock(false)
    say('')
    return draft.body.error?.fields
      ? showErrors(draft.body.error.fields)
      : showRejection(sentenceOf(draft))
  }
  // The widget says what to do next. This stays true from the QR code to the approval.
  say('Compare what your phone shows with this form before you approve.')
  showNext()
  const bond = await approve(draft.body.draft)
  if (bond.reason === 'user_unexpected') return reported()
  if (bond.state !== 'bonded' || !bond.sessionId) {
    lock(false)
    say('')
    return showRejection(sentenceFor(bond))
  }
  say('Approved. Sending your application…')
  const { sessionId: session_id, browserSecret: browser_secret } = bond
  await send({ ...fields, session_id, ...(browser_secret && { browser_secret }) })
}

/**
 * On a narrow screen the next step is below the form: the QR code, or the demo's phone. On a wide
 * screen it is beside the form and in view.
 */
function showNext() {
  const isNarrow = matchMedia('(max-width: 52rem)').matches
  const next = (isNarrow && document.querySelector('.demo-phone')) || element('approval')
  next.scrollIntoView({ block: isNarrow ? 'start' : 'nearest' })
}

// The demo's phone has scanned the QR code. The widget has scrolled to it, so the phone may be
// outside the window.
addEventListener('message', ({ source }) => {
  /** @type {HTMLIFrameElement | null} */
  const phone = document.querySelector('.demo-phone iframe')
  if (phone !== null && source === phone.contentWindow)
    phone.scrollIntoView({ block: 'nearest', behavior: 'instant' })
})

/**
 * @param {object} context the draft as the bank has stored it: a page that is loaded again
 *   continues with the same QR code only for the same draft
 * @returns {Promise<Bond>}
 */
async function approve(context) {
  const pulse = await loadedWidget()
  if (!pulse) return { state: 'unavailable', reason: 'sdk_not_loaded' }
  try {
    if (!isReady) {
      element('bond-container').replaceChildren()
      pulse.init({
        publishableKey,
        workflow,
        containerId: 'bond-container',
        sessionEndpoint: '/bond-session',
      })
      isReady = true
    }
    // Another scenario of the demo is another request, although the form is the same.
    const scenario = new URLSearchParams(location.search).get('scenario')
    return await pulse.requireBond({
      action,
      context: { ...context, ...(scenario !== null && { scenario }) },
      onRetry: () => form.requestSubmit(),
    })
  } catch (error) {
    // An outcome never rejects, so only a mistake in this page leads here.
    console.error(error)
    return { state: 'unavailable' }
  }
}

/**
 * Loads the widget's script again if it failed to load with the page.
 * @returns {Promise<Pulse | undefined>}
 */
async function loadedWidget() {
  const widget = () => /** @type {{ Pulse?: Pulse }} */ (globalThis).Pulse
  const failed = /** @type {HTMLScriptElement | null} */ (
    document.querySelector('script[src*="/v1/"]')
  )
  if (widget() || !failed) return widget()
  await new Promise((resolve) => {
    const script = document.createElement('script')
    script.src = failed.src
    script.addEventListener('load', resolve)
    script.addEventListener('error', resolve)
    document.head.append(script)
  })
  return widget()
}

/** The phone answered "This wasn't me". The bank checks that, and ends this browser's login. */
async function reported() {
  say('')
  const response = await post('/reports', {})
  const number = response.body.report?.number
  // The page must not keep on showing a form that it says is deleted.
  form.remove()
  const done = number
    ? `We have deleted this form, recorded report ${number}, and ended this login.`
    : 'Close this page.'
  showResult({
    outcome: 'reported',
    title: 'Stopped: your phone says this was not you',
    text: `Nothing was sent. ${done} If someone asked you to scan the QR code, call us on the number on your card, not on one from a message or a call.`,
    actions: [linkTo('/', 'It was me: start over')],
  })
}

/** @param {Record<string, FormDataEntryValue>} application */
async function send(application) {
  const response = await post('/applications', application)
  if (response.status === 201) {
    const { number, status, message } = response.body.application
    say('')
    button.hidden = true
    const title = status === 'accepted' ? 'Application received' : 'Application received, in review'
    return showResult({
      outcome: status,
      title: `${title}: `,
      number,
      text: message,
      actions: [linkTo(location.href, 'Start again')],
    })
  }
  if (response.status === 0 || response.status === 503) {
    // The approval is for one application, so sending the same one again never creates a second.
    say('Your approval is kept.')
    const again = document.createElement('button')
    again.className = 'button'
    again.textContent = 'Send again'
    again.addEventListener('click', () => void send(application), { once: true })
    return showResult({
      outcome: 'unsure',
      title: 'Not sure it arrived',
      text: sentenceOf(response),
      actions: [again],
    })
  }
  lock(false)
  say('')
  const mayHaveArrived = response.body.error?.reason === 'already_used'
  showRejection(sentenceOf(response), mayHaveArrived ? [linkTo('/', 'See what you have sent')] : [])
}

/**
 * @param {string} path
 * @param {object} body
 * @returns {Promise<BankResponse>} status 0 when there was no response
 */
async function post(path, body) {
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: await response.json() }
  } catch {
    return { status: 0, body: {} }
  }
}

/**
 * An amount in whole euros as the phone shows it. Other text stays as typed, for the bank to check.
 * @param {string} text
 */
function formatEuros(text) {
  const digits = text
    .trim()
    .replace(/^€\s*/, '')
    .replaceAll(/(?<=\d)[,\s](?=\d{3}(\D|$))/g, '')
  return /^\d{1,9}$/.test(digits) ? `€${Number(digits).toLocaleString('en-GB')}` : text
}

/** @param {BankResponse} response */
function sentenceOf({ body }) {
  return body.error?.message ?? 'The bank did not answer. Check your connection and try again.'
}

/** @param {Bond} bond */
function sentenceFor({ state, reason }) {
  if (reason === 'user_declined') return 'You declined on your phone. Nothing was sent.'
  if (reason === 'not_verified')
    return 'Your phone could not confirm that it was you. Nothing was sent. Continue again to try once more.'
  if (state === 'expired')
    return 'The request expired. Nothing was sent. Continue again for a new QR code.'
  if (state === 'killed')
    return 'The request was canceled. Nothing was sent. Continue again for a new QR code.'
  if (reason === 'confirmed_elsewhere')
    return 'You confirmed this in another browser. Nothing was sent from here. Go on there, or continue again here.'
  if (reason === 'container_hidden')
    return 'The QR code must stay visible on this page. Nothing was sent. Continue again.'
  // A mistake in the bank's setup. Trying again does not help, and the console has the cause.
  if (reason?.startsWith('key_') || reason === 'origin_not_allowed')
    return 'Approving by phone is not available on this page. Nothing was sent. Please call us.'
  return 'Approving by phone does not work just now. Nothing was sent. Try again in a minute.'
}

/** @param {Record<string, string>} errors by field */
function showErrors(errors) {
  const links = Object.entries(errors).map(([name, sentence]) => {
    element(name).setAttribute('aria-invalid', 'true')
    const message = element(`${name}-error`)
    message.textContent = sentence
    message.hidden = false
    const item = document.createElement('li')
    item.append(linkTo(`#${name}`, sentence))
    return item
  })
  const list = document.createElement('ul')
  list.append(...links)
  const summary = element('error-summary')
  summary.replaceChildren('Check these:', list)
  summary.hidden = false
  summary.focus()
}

function clearErrors() {
  element('error-summary').hidden = true
  for (const field of fieldset.querySelectorAll('[aria-invalid]'))
    field.removeAttribute('aria-invalid')
  for (const message of /** @type {NodeListOf<HTMLElement>} */ (
    fieldset.querySelectorAll('.error')
  ))
    message.hidden = true
}

/**
 * @param {string} text
 * @param {HTMLElement[]} [actions]
 */
function showRejection(text, actions) {
  showResult({ outcome: 'refused', title: 'Not sent', text, ...(actions && { actions }) })
}

/**
 * @param {{
 *   outcome: string, title: string, number?: string, text: string, actions?: HTMLElement[],
 * }} result The number follows the title and stays on one line.
 */
function showResult({ outcome, title, number, text, actions = [] }) {
  const result = element('result')
  result.dataset.outcome = outcome
  element('result-title').textContent = title
  if (number) {
    const unbroken = document.createElement('span')
    unbroken.className = 'number'
    unbroken.textContent = number
    element('result-title').append(unbroken)
  }
  element('result-text').textContent = text
  element('result-actions').replaceChildren(...actions)
  result.hidden = false
  result.focus()
}

/**
 * @param {string} href
 * @param {string} text
 */
function linkTo(href, text) {
  const link = document.createElement('a')
  link.href = href
  link.textContent = text
  return link
}

/** @param {string} text */
function say(text) {
  element('status').textContent = text
}

/**
 * Locks the form while the phone approves it, so that the page sends exactly what was approved.
 * @param {boolean} locked
 */
function lock(locked) {
  fieldset.disabled = locked
  button.disabled = locked
}

/** @param {string} id */
function element(id) {
  const found = document.getElementById(id)
  if (!found) throw new Error(`the page has no #${id}`)
  return found
}
