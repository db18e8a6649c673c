import { staticFile } from './static-file.ts'

/** Asks the browser for a passkey, and sends the form with what it returns. */
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
const ask = () => {
  const challenge = bytes(form.dataset.challenge)
  const { name } = form.dataset
  const id = location.hostname
  if (name === '')
    return navigator.credentials.get({
      publicKey: { challenge, rpId: id, userVerification: 'required' },
    })
  return navigator.credentials.create({
    publicKey: {
      challenge,
      rp: { id, name: 'Bonded Sessions console' },
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
  } catch {
    status.textContent = 'The browser did not return a passkey. Try again.'
  }
})
`,
)
