// @ts-check

/*
 * The bank's page loads this script in the demo only. The browser of the demo has no passkey of the
 * simulated phone, so the script asks the phone beside the page. The page names no key, so that
 * phone answers with its own if it has one. If the service rejected that one, because a real phone
 * has approved, the browser handles the next request.
 */
'use strict'
{
  const { origin: service } = new URL(/** @type {HTMLScriptElement} */ (document.currentScript).src)
  const askBrowser = navigator.credentials.get.bind(navigator.credentials)

  /** The challenge of the session that the phone has signed. @type {string | undefined} */
  let signed

  navigator.credentials.get = async (options) => {
    const { publicKey, signal } = options ?? {}
    const challenge = publicKey && String(new Uint8Array(bytesOf(publicKey.challenge)))
    const credential = publicKey && challenge !== signed ? await askPhone(publicKey, signal) : null
    if (credential === null) return askBrowser(options)
    signed = challenge
    return credential
  }

  /** @param {BufferSource} source */
  function bytesOf(source) {
    return ArrayBuffer.isView(source) ? source.buffer : source
  }

  /**
   * Asks the document of the phone page, which signs for the bank's origin only.
   * @param {PublicKeyCredentialRequestOptions} request
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>} the credential; null if the phone has no such key
   */
  function askPhone({ challenge, rpId, allowCredentials }, signal) {
    /** @type {HTMLIFrameElement | null} */
    const frame = document.querySelector('.demo-phone iframe')
    const phone = frame?.contentWindow?.[0]
    if (phone === undefined) return Promise.resolve(null)
    const { port1, port2 } = new MessageChannel()
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      port1.addEventListener('message', ({ data }) => resolve(data), { once: true })
      port1.start()
      phone.postMessage({ challenge, rpId, allowCredentials }, service, [port2])
    })
  }
}
