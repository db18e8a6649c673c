import { makeId, type SessionId } from '@bonded/contract'
import type { Instant } from '@bonded/core/domain/session'
import type { BlockCipher, IdKeys } from '@bonded/core/ports/keyring'
import type { Work } from '@bonded/core/ports/work'
import { GenerationCache } from '@bonded/core/collections/generation-cache'
import { changed, row } from '../statement.ts'

const BLOCK_BYTES = 16
const TIME_BYTES = 6
/** Times until the year 2109. With the bits below, a key is an integer that a double represents. */
const TIME_LIMIT = 2 ** 42
/** Bounds the sessions in use, each of which has about ten statements a minute. About 0.5 MB. */
const MAX_CACHED_KEYS = 4_096
/** Random bits of a key, which tell apart the sessions of one millisecond. */
const SPREAD_BITS = 11

/**
 * Ids and primary keys of sessions. An id is one encrypted block of 48 bits of time and 80 random
 * bits, so it reveals neither. Its decrypted time and first random bits are the session's primary
 * key, so that sessions of one time share pages.
 *
 * Every text has a key, and a key can have several ids: a row is the session of an id only if its
 * `id` column has that id.
 */
export class SessionKeys {
  readonly #cipher: BlockCipher
  /** The keys that ids decrypt to. They never change. */
  readonly #decrypted = new GenerationCache<SessionId, number>(MAX_CACHED_KEYS)

  constructor(cipher: BlockCipher) {
    this.#cipher = cipher
  }

  /** An id for a session that is created now, from 16 random bytes. */
  newId(at: Instant, random: Uint8Array): SessionId {
    const block = Buffer.from(random)
    block.writeUIntBE(at, 0, TIME_BYTES)
    return makeId('sess', this.#cipher.encrypt(block))
  }

  /** The primary key of a session. */
  of(id: SessionId): number {
    const known = this.#decrypted.get(id)
    if (known !== undefined) return known
    const key = keyIn(this.#cipher.decrypt(blockOf(id)))
    this.#decrypted.set(id, key)
    return key
  }
}

/** The lowest key of a session that was created at this time or later. */
export function firstKeyAt(at: Instant): number {
  return at * 2 ** SPREAD_BITS
}

/**
 * Reads the key of session ids, or creates it in a new database. Of two processes that start at
 * once, both get the same key.
 *
 * @throws {IdKeyError} if no listed root key opens it
 */
export function* openSessionKeys(keys: IdKeys): Work<SessionKeys> {
  let stored = yield* storedKey()
  if (stored === undefined) {
    yield* changed(
      'insert into session_id_key (number, sealed) values (1, $1) on conflict (number) do nothing',
      [keys.create()],
    )
    stored = yield* storedKey()
  }
  const opened = keys.open(stored ?? '')
  if (opened.stored !== stored)
    // If another process has replaced it first, that process did the same work.
    yield* changed('update session_id_key set sealed = $2 where number = 1 and sealed = $1', [
      stored ?? '',
      opened.stored,
    ])
  return new SessionKeys(opened.cipher)
}

function* storedKey(): Work<string | undefined> {
  const found = yield* row('select sealed from session_id_key where number = 1', [])
  return found?.sealed as string | undefined
}

/** The digits of an id as a number of 128 bits. It has no error: an invented id has no row. */
function blockOf(id: SessionId): Buffer {
  const words = [0, 0, 0, 0]
  for (let index = id.indexOf('_') + 1; index < id.length; index++) {
    // 62 × 2^32 is far below 2^53. What exceeds 128 bits is dropped.
    let carry = digitOf(id.charCodeAt(index))
    for (let word = 3; word >= 0; word--) {
      const value = (words[word] ?? 0) * 62 + carry
      carry = Math.floor(value / 2 ** 32)
      words[word] = value - carry * 2 ** 32
    }
  }
  const block = Buffer.allocUnsafe(BLOCK_BYTES)
  for (const [word, value] of words.entries()) block.writeUInt32BE(value, word * 4)
  return block
}

/** `0` to `9`, then `A` to `Z`, then `a` to `z`. Any digit for another character. */
function digitOf(code: number): number {
  const offset = code < 0x3a ? 0x30 : code < 0x5b ? 0x37 : 0x3d
  return (code - offset) & 63
}

/** Negative for blocks whose time is not within the limit: almost all invented ids. */
function keyIn(plain: Uint8Array): number {
  const block = Buffer.from(plain.buffer, plain.byteOffset, BLOCK_BYTES)
  const time = block.readUIntBE(0, TIME_BYTES)
  if (time < TIME_LIMIT)
    return firstKeyAt(time) + (block.readUInt16BE(TIME_BYTES) >>> (16 - SPREAD_BITS))
  return -1 - block.readUIntBE(TIME_BYTES, TIME_BYTES)
}
