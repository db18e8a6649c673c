// @ts-check

/*
 * `bonded dev` and `bonded try` add this script to their documents of the phone page, and to no
 * other document. It simulates what the page uses of a phone: an authenticator, motion sensors and
 * a touch screen. The keys are made in this browser and cannot be exported. No server has them.
 */
'use strict'
{
  /** @typedef {{ id: string, rpId: string, key: CryptoKey }} StoredKey */
  /**
   * @typedef {{
   *   challenge: BufferSource, rpId?: string, allowCredentials?: { id: BufferSource }[],
   * }} Asked
   */

  const {
    bank,
    shell = '',
    path = '/bond',
  } = /** @type {HTMLScriptElement} */ (document.currentScript).dataset
  let isCarried = location.hash !== '#resting'
  // The page reads its request from the address that a phone opens.
  history.replaceState(null, '', path + location.search)
  // The service's own pages link to each other, and cannot be framed.
  const FRAMED = new Map([
    ['/bond', '/demo/phone'],
    ['/inbox', '/demo/inbox'],
  ])
  const { navigation } = /** @type {any} */ (window)
  navigation?.addEventListener('navigate', (/** @type {any} */ event) => {
    const { url, sameDocument } = event.destination
    const framed = sameDocument ? undefined : FRAMED.get(new URL(url).pathname)
    if (framed === undefined) return
    event.preventDefault()
    location.replace(framed)
  })
  // A frame gets no permission for notifications.
  Reflect.deleteProperty(window, 'PushManager')

  const askMedia = matchMedia.bind(window)
  window.matchMedia = (query) => askMedia(query === '(any-pointer: coarse)' ? 'all' : query)
  window.close = () => parent.postMessage('closed', shell)
  // A phone's screen has the focus although the user clicks beside the frame.
  for (const type of ['focus', 'blur'])
    addEventListener(type, (event) => {
      if (event.target === window) event.stopImmediatePropagation()
    })

  addEventListener('message', ({ origin, data, ports: [port] }) => {
    if (origin === shell && data === 'picked_up') pickUp()
    // The bank's page asks for a passkey. The signature names that page.
    if (origin === bank && port !== undefined)
      sign(data, origin).then(
        (signed) => port.postMessage(signed),
        () => port.postMessage(null),
      )
  })

  Object.defineProperty(navigator, 'credentials', {
    value: {
      create: (/** @type {{ publicKey: PublicKeyCredentialCreationOptions }} */ { publicKey }) =>
        create(publicKey),
      get: (/** @type {{ publicKey: Asked }} */ { publicKey }) => sign(publicKey, location.origin),
    },
  })

  /* The authenticator. */

  const USER_VERIFIED = 0x05
  const ATTESTED_CREDENTIAL = 0x40
  const ID_BYTES = 32

  /** @param {PublicKeyCredentialCreationOptions} asked */
  async function create({ challenge, rp }) {
    const rpId = rp.id ?? location.hostname
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
    const pair = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])
    const rawId = crypto.getRandomValues(new Uint8Array(ID_BYTES))
    /** @type {StoredKey} */
    const stored = { id: encode(rawId), rpId, key: pair.privateKey }
    await inTable('readwrite', (table) => table.add(stored))
    const point = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey))
    const data = join(
      await headerOf(rpId, USER_VERIFIED | ATTESTED_CREDENTIAL),
      new Uint8Array(16),
      [0, ID_BYTES],
      rawId,
      // COSE: an EC2 key for ES256 on P-256.
      [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20],
      point.slice(1, 33),
      [0x22, 0x58, 0x20],
      point.slice(33),
    )
    // CBOR: { fmt: "none", attStmt: {}, authData }.
    const attestationObject = join(
      [0xa3, 0x63],
      utf8('fmt'),
      [0x64],
      utf8('none'),
      [0x67],
      utf8('attStmt'),
      [0xa0, 0x68],
      utf8('authData'),
      [0x58, data.length],
      data,
    )
    const clientData = clientDataOf('webauthn.create', challenge, location.origin)
    return credentialOf(stored.id, {
      clientDataJSON: clientData.buffer,
      attestationObject: attestationObject.buffer,
    })
  }

  /**
   * Signs with a named key, or with the newest one where the page names none.
   * @param {Asked} asked
   * @param {string} origin the page that asks
   */
  async function sign({ challenge, rpId = location.hostname, allowCredentials }, origin) {
    /** @type {StoredKey[]} */
    const keys = await inTable('readonly', (table) => table.getAll())
    const allowed = allowCredentials?.map(({ id }) => encode(id))
    const own = keys.findLast((each) => each.rpId === rpId && (allowed?.includes(each.id) ?? true))
    if (own === undefined) throw new DOMException('no such key', 'NotAllowedError')
    const data = await headerOf(rpId, USER_VERIFIED)
    const clientData = clientDataOf('webauthn.get', challenge, origin)
    const signature = await crypto.subtle.sign(
      { name: 'ECDSA', hash: 'SHA-256' },
      own.key,
      join(data, await sha256(clientData)),
    )
    return credentialOf(own.id, {
      clientDataJSON: clientData.buffer,
      authenticatorData: data.buffer,
      signature: derOf(new Uint8Array(signature)).buffer,
    })
  }

  /**
   * @param {string} id
   * @param {Record<string, ArrayBuffer>} response
   */
  function credentialOf(id, response) {
    return { id, rawId: decode(id).buffer, type: 'public-key', response }
  }

  /**
   * @param {string} type
   * @param {BufferSource} challenge
   * @param {string} origin
   */
  function clientDataOf(type, challenge, origin) {
    return utf8(JSON.stringify({ type, challenge: encode(challenge), origin, crossOrigin: false }))
  }

  /**
   * The header of authenticator data, with the counter of a passkey, which stays 0.
   * @param {string} rpId
   * @param {number} flags
   */
  async function headerOf(rpId, flags) {
    return join(await sha256(utf8(rpId)), [flags, 0, 0, 0, 0])
  }

  /**
   * The signature as authenticators write it: a sequence of two integers.
   * @param {Uint8Array} raw
   */
  function derOf(raw) {
    const integers = [raw.slice(0, 32), raw.slice(32)].map((number) => {
      const digits = number.slice(number.findIndex((byte) => byte !== 0))
      const isHigh = (digits[0] ?? 0) > 0x7f
      return join([0x02, digits.length + Number(isHigh)], isHigh ? [0] : [], digits)
    })
    const content = join(...integers)
    return join([0x30, content.length], content)
  }

  /**
   * @param {IDBTransactionMode} mode
   * @param {(table: IDBObjectStore) => IDBRequest} use
   * @returns {Promise<any>}
   */
  function inTable(mode, use) {
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open('demo-software-keys', 1)
      opening.addEventListener('upgradeneeded', () =>
        opening.result.createObjectStore('keys', { autoIncrement: true }),
      )
      opening.addEventListener('error', () => reject(opening.error))
      opening.addEventListener('success', () => {
        const transaction = opening.result.transaction('keys', mode)
        const request = use(transaction.objectStore('keys'))
        transaction.addEventListener('complete', () => resolve(request.result))
        transaction.addEventListener('abort', () => reject(transaction.error))
        opening.result.close()
      })
    })
  }

  /* The motion sensors. */

  const READING_MS = 20
  const REPORT_MS = 200
  /** The sensors have read for so long when a page opens, so that the user need not wait. */
  const WINDOW_MS = 60_000
  /** How strongly a carried phone moves in each second, in m/s². Each second differs by chance. */
  const STRENGTHS = [0.1, 0.1, 0.9, 0.9, 0.1, 0.9, 0.1]
  /** Of 50 readings in a second. A limb has inertia, so that each resembles the one before. */
  const limb = [0, 1, 2, 3, 4, 5].map(() => {
    let value = 0
    return () => (value = 0.9 * value + 0.44 * noise())
  })
  let readUntil = performance.now() - WINDOW_MS
  /** @type {(reading: object) => void} */
  let onReading = () => {}
  let acceleration = 0
  let rotation = 0

  // The frame has no permission for real sensors, so the page must not listen to them.
  const listen = addEventListener.bind(window)
  window.addEventListener = (/** @type {string} */ type, /** @type {any} */ listener) => {
    if (type !== 'devicemotion') return listen(type, listener)
    onReading = listener
    report(performance.now())
    setInterval(() => report(performance.now()), REPORT_MS)
  }

  /** The phone is held from now on. The next minute is read at once. */
  function pickUp() {
    isCarried = true
    report(performance.now() + WINDOW_MS)
  }

  /**
   * Reports the readings since the last report, each with its own time.
   * @param {number} untilMs
   */
  function report(untilMs) {
    while (readUntil < untilMs - READING_MS) {
      readUntil += READING_MS
      const at = readUntil
      performance.now = () => at
      onReading(read())
    }
    Reflect.deleteProperty(performance, 'now')
  }

  function read() {
    const second = Math.floor(readUntil / 1_000)
    if (second !== Math.floor((readUntil - READING_MS) / 1_000)) {
      acceleration = (STRENGTHS.at(second % STRENGTHS.length) ?? 0) * changed()
      rotation = (acceleration * 0.35 * changed() * 180) / Math.PI
    }
    const [x = 0, y = 0, z = 0, alpha = 0, beta = 0, gamma = 0] = limb.map((next) => next())
    // On a table, the sensors read their own noise.
    const [pull, turn] = isCarried ? [acceleration, rotation] : [0.01, 0.01]
    return {
      accelerationIncludingGravity: { x: pull * x, y: pull * y, z: 9.81 + pull * z },
      rotationRate: { alpha: turn * alpha, beta: turn * beta, gamma: turn * gamma },
    }
  }

  /** A factor, by which no second is like another one. */
  function changed() {
    return Math.exp(0.8 * Math.random() - 0.4)
  }

  /** A normally distributed number. */
  function noise() {
    return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())
  }

  /* Bytes. */

  /** @param {...ArrayLike<number>} parts */
  function join(...parts) {
    return Uint8Array.from(parts.flatMap((part) => Array.from(part)))
  }

  /** @param {string} text */
  function utf8(text) {
    return Uint8Array.from(new TextEncoder().encode(text))
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  async function sha256(bytes) {
    return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
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
    return Uint8Array.from(binary, (character) => character.charCodeAt(0))
  }
}
