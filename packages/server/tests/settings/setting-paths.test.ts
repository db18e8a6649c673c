import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SETTINGS } from '../../src/settings/settings.ts'

test('settings that name a file or a folder say so, for the completion of a shell', () => {
  const paths = SETTINGS.flatMap(({ name, path }) => (path ? [`${name} ${path}`] : []))
  assert.deepEqual(paths, [
    'BONDED_ROOT_KEYS_COMMAND file',
    'BONDED_RECEIPT_KEYS file',
    'BONDED_RECEIPT_COMMAND file',
    'BONDED_RECEIPT_CHECKPOINT file',
    'BONDED_DATA_DIR folder',
    'BONDED_CARRIERS file',
    'BONDED_CSCA_DIR folder',
    'BONDED_PHONES file',
    'BONDED_TEST_ROOTS file',
  ])
})
