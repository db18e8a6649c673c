// @ts-check

/*
 * The bank's page loads this script in the demo only. The browser of the demo has no passkey of the
 * simulated phone, so the script asks the phone beside the page. The phone answers for its own key,
 * and the browser handles every other request.
 */
'use strict'
{
  const { origin: phone } = new URL(/** @type {HTMLScriptElement} */ (document.currentScript).src)
  const askBrowser = navigator.credentials.get.bind(navigator.credentials)

  navigator.credentials.get = async (options) => {
    const answer = options?.publicKey && (await askPhone(options.publicKey, options.signal))
    return answer ? credentialOf(answer) : askBrowser(options)
  }

  /**
   * Asks the phone's frame. Its server signs for the bank's origin only.
   * @param {PublicKeyCredentialRequestOptions} request
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>} the assertion as JSON; undefined if the phone has no such key
   */
  function askPhone({ challenge, rpId, allowCredentials = [] }, signal) {
    const frame = /** @type {HTMLIFrameElement | null} */ (
      document.querySelector('.demo-phone iframe')
    )
    const { port1, port2 } = new MessageChannel()
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      port1.addEventListener('message', ({ data }) => resolve(data), { once: true })
      port1.start()
      const credentials = allowCredentials.map(({ id }) => encode(id))
      const asked = { challenge: encode(challenge), rp_id: rpId, credentials }
      frame?.contentWindow?.postMessage(asked, phone, [port2])
    })
  }

  /**
   * @param {any} json
   * @returns {any} what the widget reads of a `PublicKeyCredential`
   */
  function credentialOf({ id, type, response }) {
    const { clientDataJSON, authenticatorData, signature } = response
    return {
      id,
      type,
      rawId: decode(id),
      response: {
        clientDataJSON: decode(clientDataJSON),
        authenticatorData: decode(authenticatorData),
        signature: decode(signature),
      },
    }
  }

  /** @param {BufferSource} source */
  function encode(source) {
    const bytes = ArrayBuffer.isView(source)
      ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
      : new Uint8Array(source)
    return btoa(String.fromCharCode(...bytes))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', '')
  }

  /** @param {string} text base64url */
  function decode(text) {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return Uint8Array.from(binary, (character) => character.charCodeAt(0)).buffer
  }
}
