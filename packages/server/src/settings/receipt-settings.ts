import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { LOG_RETENTION_DAYS } from '@bonded/core/domain/receipt-log'
import { RECEIPT_RETENTION_DAYS } from '@bonded/core/domain/receipts'
import { parseBounds, RETENTION_BOUNDS, type RetentionBounds } from '@bonded/core/domain/retention'
import {
  ReceiptKeyError,
  type ReceiptKeys,
  readReceiptKeys,
} from '../adapters/signer/receipt-keys.ts'
import { isProgram } from '../adapters/programs/program.ts'
import { parseWitnesses, type WitnessSettings } from '../adapters/witness/witness-settings.ts'
import type { ConfigMistake } from './config-file.ts'
import type { SettingReader } from './setting-reader.ts'
import { quotedValue } from './shown-value.ts'

const DAY_MS = 24 * 60 * 60_000
/** A hundred years. */
const MAX_DAYS = 36_500
const EXPECTED =
  'a file of Ed25519 keys, PEM or a JSON Web Key Set, that only its owner and group can read. To generate one: openssl genpkey -algorithm ed25519'

/** The checked settings of receipts. */
export interface ReceiptConfig {
  /** Undefined without the setting. */
  readonly receiptKeys: ReceiptKeys | undefined
  /** The program that signs receipts; undefined where the file has the private key. */
  readonly receiptCommand: string | undefined
  /** Where this node keeps the latest checkpoint; undefined for the data folder. */
  readonly receiptCheckpoint: string | undefined
  /** How long a receipt can be fetched. */
  readonly receiptRetentionMs: number
  /** How long the entries of the log of receipts can be fetched. */
  readonly logRetentionMs: number
  /** The periods that a tenant can have. */
  readonly retentionBounds: RetentionBounds
  /** Who cosigns the log of receipts. */
  readonly witnesses: readonly WitnessSettings[]
}

/** Reads the settings of receipts. */
export function readReceiptSettings({
  given,
  wrong,
  mistakes,
}: SettingReader & { readonly mistakes: ConfigMistake[] }): ReceiptConfig {
  const file = given('BONDED_RECEIPT_KEYS')
  const receiptCommand = given('BONDED_RECEIPT_COMMAND')
  const mistake = (problem: string) =>
    mistakes.push({
      setting: 'BONDED_RECEIPT_KEYS',
      value: `${quotedValue('BONDED_RECEIPT_KEYS', file ?? '')}: ${problem}`,
      expected: EXPECTED,
    })
  let receiptKeys: ReceiptKeys | undefined
  try {
    receiptKeys = file === undefined ? undefined : readReceiptKeys(file)
    if (receiptKeys?.privateKey === undefined && file !== undefined && receiptCommand === undefined)
      mistake('its first key is not a private key')
  } catch (failure) {
    if (!(failure instanceof ReceiptKeyError)) throw failure
    mistake(failure.message)
  }
  // Without the file, nothing names the key that the program signs with.
  if (receiptCommand !== undefined && (file === undefined || !isProgram(receiptCommand)))
    wrong('BONDED_RECEIPT_COMMAND')
  const readDays = (
    name: 'BONDED_RECEIPT_RETENTION_DAYS' | 'BONDED_RECEIPT_LOG_RETENTION_DAYS',
    fallback: number,
  ): number => {
    const days = given(name) ?? String(fallback)
    if (!/^[1-9]\d{0,4}$/.test(days) || Number(days) > MAX_DAYS) wrong(name)
    return Number(days)
  }
  const receiptDays = readDays('BONDED_RECEIPT_RETENTION_DAYS', RECEIPT_RETENTION_DAYS)
  const logDays = readDays('BONDED_RECEIPT_LOG_RETENTION_DAYS', LOG_RETENTION_DAYS)
  // The proof of a receipt needs its entry.
  if (logDays < receiptDays) wrong('BONDED_RECEIPT_LOG_RETENTION_DAYS')
  const retentionBounds = parseBounds(given('BONDED_RETENTION_BOUNDS') ?? '', logDays)
  if (retentionBounds === undefined) wrong('BONDED_RETENTION_BOUNDS')
  const witnesses = parseWitnesses(given('BONDED_RECEIPT_WITNESSES') ?? '')
  if (witnesses === undefined) wrong('BONDED_RECEIPT_WITNESSES')
  const receiptCheckpoint = given('BONDED_RECEIPT_CHECKPOINT')
  if (receiptCheckpoint !== undefined && !isFolder(dirname(receiptCheckpoint)))
    wrong('BONDED_RECEIPT_CHECKPOINT')
  return {
    receiptKeys,
    receiptCommand,
    receiptCheckpoint,
    receiptRetentionMs: receiptDays * DAY_MS,
    logRetentionMs: logDays * DAY_MS,
    retentionBounds: retentionBounds ?? RETENTION_BOUNDS,
    witnesses: witnesses ?? [],
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
