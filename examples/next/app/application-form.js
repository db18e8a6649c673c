'use client'

import Script from 'next/script'
import { useState } from 'react'

const WORKFLOW = { workflow: 'credit_application', sessionEndpoint: '/bond-session' }

export function ApplicationForm({ origin, publishableKey }) {
  const [isReady, setIsReady] = useState(false)
  const [message, setMessage] = useState('')

  function start() {
    window.Pulse.init({ publishableKey, ...WORKFLOW })
    setIsReady(true)
  }

  async function submit(event) {
    event.preventDefault()
    const { amount, purpose, note } = event.currentTarget
    const fields = { amount: amount.valueAsNumber, purpose: purpose.value, note: note.value }
    setMessage(await apply(fields))
  }

  return (
    <form onSubmit={(event) => void submit(event)}>
      <Script src={`${origin}/v1/pulse.js`} onReady={start} />
      <p>
        <label>
          Amount in euros{' '}
          <input name="amount" type="number" min="1" max="100000" defaultValue="12500" required />
        </label>
      </p>
      <p>
        <label>
          Purpose{' '}
          <select name="purpose">
            <option>car</option>
            <option>home</option>
            <option>other</option>
          </select>
        </label>
      </p>
      <p>
        <label>
          Note (optional) <textarea name="note" />
        </label>
      </p>
      <button disabled={!isReady}>Continue to approval</button>
      <div data-pulse-widget style={{ display: 'block', minHeight: 168, maxWidth: 360 }} />
      <p role="status">{message}</p>
    </form>
  )
}

/** Saves the draft, asks for the approval, and submits the form. Returns what the user reads. */
async function apply(fields) {
  const draft = await post('/drafts', fields)
  if (!draft.ok) return draft.body.error.message
  const bond = await window.Pulse.requireBond({ action: 'submit_application' })
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
