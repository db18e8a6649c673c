import type { RequestId } from '@bonded/contract'
import type { AssertionVerifiers, AttestationVerifiers } from '../ports/devices.ts'
import type { Store } from '../ports/store.ts'
import type { RequestPart, Tracer } from '../ports/tracer.ts'
import type { Service } from './service.ts'

/** Returns the service with parts that the tracer times for one request. */
export function tracedService(service: Service, tracer: Tracer, requestId: RequestId): Service {
  const timed = <T>(part: RequestPart, work: () => T): T => {
    const end = tracer.begin(requestId, part)
    let isPending = false
    try {
      const result = work()
      if (!(result instanceof Promise)) return result
      isPending = true
      return result.finally(() => end(false)) as T
    } catch (failure) {
      end(true)
      isPending = true
      throw failure
    } finally {
      if (!isPending) end(false)
    }
  }
  const { store, assertionVerifiers, attestationVerifiers, carrier, passports } = service
  return {
    ...service,
    store: tracedStore(store, (work) => timed('store.write', work)),
    assertionVerifiers: verifiersOf(assertionVerifiers, (work) => timed('assertion.verify', work)),
    attestationVerifiers: verifiersOf(attestationVerifiers, (work) =>
      timed('attestation.verify', work),
    ),
    carrier: { check: (query) => timed('carrier.check', () => carrier.check(query)) },
    passports: {
      verify: (query) => timed('passport.verify', () => passports.verify(query)),
      [Symbol.asyncDispose]: () => passports[Symbol.asyncDispose](),
    },
  }
}

type Timed = <T>(work: () => T) => T

function tracedStore(store: Store, timed: Timed): Store {
  return {
    write: (unit) => timed(() => store.write(unit)),
    read: (unit) => store.read(unit),
    newSessionId: (at, random) => store.newSessionId(at, random),
    during: (cause) => store.during(cause),
    health: () => store.health(),
    hasClock: store.hasClock,
    externalChanges: () => store.externalChanges(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

/** Each verifier with its call timed. Other members keep their receiver. */
function verifiersOf<V extends AssertionVerifiers | AttestationVerifiers>(
  verifiers: V,
  timed: Timed,
): V {
  return new Proxy(verifiers, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name)
      if (typeof found === 'function') return found.bind(target)
      if (!isVerifier(found)) return found
      return { verify: (given: unknown) => timed(() => found.verify(given)) }
    },
  })
}

function isVerifier(value: unknown): value is { verify(given: unknown): unknown } {
  return typeof value === 'object' && value !== null && 'verify' in value
}
