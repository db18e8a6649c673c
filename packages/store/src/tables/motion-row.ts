import type { StoredWindow } from '@bonded/core/domain/motion-memory'

/** The time (two words) and the number of fingerprints. */
const HEAD_WORDS = 3
const WORD_BYTES = 4
const WORD = 2 ** 32

/** Encodes windows for their column: 32-bit words, little-endian. Text would take 3× the space. */
export function windowsToBytes(windows: readonly StoredWindow[]): Uint8Array {
  const words = windows.reduce((sum, { fingerprints }) => sum + HEAD_WORDS + fingerprints.length, 0)
  const view = new DataView(new ArrayBuffer(words * WORD_BYTES))
  let at = 0
  for (const window of windows) {
    view.setUint32(at, Math.floor(window.at / WORD), true)
    view.setUint32(at + WORD_BYTES, window.at % WORD, true)
    view.setUint32(at + 2 * WORD_BYTES, window.fingerprints.length, true)
    at += HEAD_WORDS * WORD_BYTES
    for (const mark of window.fingerprints) {
      view.setUint32(at, mark, true)
      at += WORD_BYTES
    }
  }
  return new Uint8Array(view.buffer)
}

/** @throws {RangeError} where the bytes end in the middle of a window */
export function windowsFromBytes(bytes: Uint8Array): readonly StoredWindow[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const take = (): number => {
    at += WORD_BYTES
    return view.getUint32(at - WORD_BYTES, true)
  }
  const windows: StoredWindow[] = []
  while (at < bytes.length) {
    const time = take() * WORD + take()
    windows.push({ at: time, fingerprints: Array.from({ length: take() }, take) })
  }
  return windows
}
