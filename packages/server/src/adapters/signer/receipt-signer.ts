import type { Signer } from '@bonded/core/ports/signer'
import { commandSigner } from './command-signer.ts'
import { keySigner } from './key-signer.ts'
import { ownReceiptKeys, ReceiptKeyError, type ReceiptKeys } from './receipt-keys.ts'

/** Where the keys of receipts are, and who signs with them. */
export interface ReceiptSettings {
  /** Undefined where the setting is absent. */
  readonly receiptKeys: ReceiptKeys | undefined
  /** A program that signs. Undefined where the file has the private key. */
  readonly receiptCommand: string | undefined
  readonly environment: 'sandbox' | 'production'
  readonly dataDir: string
}

/** The signer of receipts. Undefined in production without keys: the service makes no receipts. */
export function receiptSignerOf(settings: ReceiptSettings): Signer | undefined {
  const { receiptKeys, receiptCommand: command, environment, dataDir } = settings
  if (receiptKeys === undefined && environment === 'production') return undefined
  const { publicKeys, privateKey } = receiptKeys ?? ownReceiptKeys(dataDir)
  if (command !== undefined) return commandSigner(publicKeys, { command })
  if (privateKey === undefined) throw new ReceiptKeyError('its first key is not a private key')
  return keySigner(publicKeys, privateKey)
}
