import { requireNativeModule } from 'expo'
import type { Keystore } from '../../src/signers/keystore.ts'

/** The native module. Android only: on iOS there is none, and this throws. */
export function keystore(): Keystore {
  return requireNativeModule<Keystore>('BondedKeystore')
}
