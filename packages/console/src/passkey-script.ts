import { staticFile } from './static-file.ts'

/**
 * Asks the browser for a passkey, and sends the form with what it returns. Without one, it says
 * why, by the name of the error (WebAuthn, 5.1.3 and 5.1.4), and what to do.
 */
export const PASSKEY_SCRIPT = staticFile(
  'passkey',
  'javascript',
  `const form = document.querySelector('form')
const status = document.querySelector('[role=status]')
const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (unit) => unit.charCodeAt(0))
const textOf = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const messages = {
  NotAllowedError: 'You closed the prompt, its time was over, or this device has no such passkey. Try again.',
  InvalidStateError: 'This device already has the passkey. Sign in with it.',
  ConstraintError: 'This device cannot check who uses it. Turn on a screen lock, or use a security key with a PIN.',
  NotSupportedError: 'This device cannot create a passkey of ES256. Use a security key or a phone.',
  SecurityError: 'The browser permits no passkeys at this address. Open the one that bonded console printed.',
  TypeError: 'This browser cannot use passkeys. Open this address in another browser.',
}
const ask = () => {
  const challenge = bytes(form.dataset.challenge)
  const { name } = form.dataset
  if (name === '')
    return navigator.credentials.get({ publicKey: { challenge, userVerification: 'required' } })
  return navigator.credentials.create({
    publicKey: {
      challenge,
      rp: { name: 'Bonded Sessions console' },
      user: { id: crypto.getRandomValues(new Uint8Array(32)), name, displayName: name },
      pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    },
  })
}
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  status.textContent = ''
  try {
    const { rawId, response } = await ask()
    form.elements.id.value = textOf(rawId)
    for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature'])
      if (response[name]) form.elements[name].value = textOf(response[name])
    form.submit()
  } catch (failure) {
    status.textContent =
      messages[failure?.name] ?? 'The browser returned no passkey (' + failure?.name + '). Try again.'
  }
})
`,
)
