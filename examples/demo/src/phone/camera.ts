import type { Sandbox, ShownCode } from '../sandbox.ts'

/** How often the camera looks for a QR code. */
const LOOK_MS = 400

/** A QR code in front of the camera. */
export type SeenCode = Pick<ShownCode, 'session_id' | 'createdAtMs'>

export interface CameraOptions {
  readonly sandbox: Pick<Sandbox, 'newestCode'>
  readonly onChange: () => void
}

/**
 * The camera of the simulated phone. It sees the newest QR code that a page shows: a page presents
 * its watch token before it draws.
 */
export class Camera implements Disposable {
  readonly #options: CameraOptions
  readonly #looking: NodeJS.Timeout
  #seen: SeenCode | null = null
  #isLooking = false

  constructor(options: CameraOptions) {
    this.#options = options
    this.#looking = setInterval(() => void this.#watch(), LOOK_MS).unref()
  }

  /** What it saw last. */
  get seen(): SeenCode | null {
    return this.#seen
  }

  /** Reads the QR code. Undefined while no page shows one. */
  async look(): Promise<ShownCode | undefined> {
    const code = await this.#options.sandbox.newestCode()
    return code?.isWatched === true ? code : undefined
  }

  [Symbol.dispose](): void {
    clearInterval(this.#looking)
  }

  async #watch(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const code = await this.look()
      if (code?.session_id === this.#seen?.session_id) return
      this.#seen = code ? { session_id: code.session_id, createdAtMs: code.createdAtMs } : null
      this.#options.onChange()
    } catch {
      // While the service is stopped, the page shows the QR code that it has.
    } finally {
      this.#isLooking = false
    }
  }
}
