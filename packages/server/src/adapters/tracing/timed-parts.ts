import type { TimedParts } from '@bonded/core/ports/tracer'

export type PartName =
  | 'store.write'
  | 'assertion.verify'
  | 'attestation.verify'
  | 'passport.verify'
  | 'carrier.check'

interface Verifier {
  verify(given: unknown): unknown
}

/**
 * The same parts, whose calls are timed.
 *
 * @param begin begins a call. It returns a function that ends the call, as a failure or not
 */
export function timedParts(
  parts: TimedParts,
  begin: (name: PartName) => (failed: boolean) => void,
): TimedParts {
  const timed = <T>(part: PartName, work: () => T): T => {
    const end = begin(part)
    try {
      const result = work()
      if (result instanceof Promise)
        void result.then(
          () => end(false),
          () => end(true),
        )
      else end(false)
      return result
    } catch (failure) {
      end(true)
      throw failure
    }
  }
  const timedEach = <V extends object>(verifiers: V, part: PartName): V => ({
    ...verifiers,
    ...Object.fromEntries(
      Object.entries(verifiers).map(([name, verifier]: [string, Verifier]) => [
        name,
        { verify: (given: unknown) => timed(part, () => verifier.verify(given)) },
      ]),
    ),
  })
  const { store, carrier, passports } = parts
  return {
    store: {
      write: (unit) => timed('store.write', () => store.write(unit)),
      read: (unit) => store.read(unit),
      newSessionId: (at, random) => store.newSessionId(at, random),
      during: (cause) => store.during(cause),
      health: () => store.health(),
      hasClock: store.hasClock,
      externalChanges: () => store.externalChanges(),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    },
    assertionVerifiers: timedEach(parts.assertionVerifiers, 'assertion.verify'),
    attestationVerifiers: timedEach(parts.attestationVerifiers, 'attestation.verify'),
    carrier: { check: (query) => timed('carrier.check', () => carrier.check(query)) },
    passports: {
      verify: (query) => timed('passport.verify', () => passports.verify(query)),
      [Symbol.asyncDispose]: () => passports[Symbol.asyncDispose](),
    },
  }
}
