import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { extractPayload, writeBackup } from '../../src/backup/backup-file.ts'
import { BackupError, readManifest } from '../../src/backup/manifest.ts'
import type { RootKey } from '../../../core/src/domain/root-keys.ts'

const key = (id: string, first: number): RootKey => ({
  id,
  bytes: Uint8Array.from({ length: 32 }, (_, index) => first + index),
})
const K1 = key('k1', 0)
const K2 = key('k2', 7)

const folder = mkdtempSync(join(tmpdir(), 'bonded-manifest-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newFile = () => join(folder, `file-${++files}`)

const PAYLOAD = Buffer.from('a payload of some bytes')

async function backup(rootKeys: readonly RootKey[] = [K1]): Promise<string> {
  const file = newFile()
  await writeBackup(file, { store: 'sqlite', now: 0, version: '1.2.3', rootKeys }, (draft) => {
    writeFileSync(draft, PAYLOAD)
    return 13
  })
  return file
}

test('a backup file yields its payload and what its manifest says', async () => {
  const file = await backup([K2, K1])
  const manifest = readManifest(file, [K1, K2])
  assert.deepEqual(
    [manifest.store, manifest.created_at, manifest.version, manifest.schema, manifest.bytes],
    ['sqlite', '1970-01-01T00:00:00.000Z', '1.2.3', 13, PAYLOAD.length],
  )
  assert.deepEqual([manifest.root_keys, manifest.sealed_with], [['k2', 'k1'], 'k2'])
  const copy = newFile()
  await extractPayload(file, manifest, copy)
  assert.deepEqual(readFileSync(copy), PAYLOAD)
  for (const written of [file, copy]) assert.equal(statSync(written).mode & 0o777, 0o600)
})

test('a backup file contains no byte sequence of a root key', async () => {
  const bytes = readFileSync(await backup())
  for (const encoding of ['latin1', 'base64url', 'base64', 'hex'] as const)
    assert.ok(!bytes.includes(Buffer.from(K1.bytes).toString(encoding), 0, encoding))
})

test('rejects a backup file in which any single byte was changed', async () => {
  const file = await backup()
  const bytes = readFileSync(file)
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index)
    writeFileSync(file, changed)
    const target = newFile()
    await assert.rejects(
      async () => extractPayload(file, readManifest(file, [K1]), target),
      BackupError,
      `byte ${index}`,
    )
  }
})

test('rejects a backup file that was cut off at any byte or continued', async () => {
  const file = await backup()
  const bytes = readFileSync(file)
  for (let length = 0; length < bytes.length; length++) {
    writeFileSync(file, bytes.subarray(0, length))
    assert.throws(() => readManifest(file, [K1]), /not a complete backup/, `${length} bytes`)
  }
  writeFileSync(file, Buffer.concat([bytes, Buffer.of(0)]))
  assert.throws(() => readManifest(file, [K1]), /not a complete backup/)
  writeFileSync(file, Buffer.concat([Buffer.of(0), bytes]))
  assert.throws(() => readManifest(file, [K1]), /not a complete backup/)
})

test('rejects a folder and a device as a backup file', () => {
  for (const file of [folder, '/dev/zero'])
    assert.throws(() => readManifest(file, [K1]), /is not a complete backup/)
})

test('names the root key that is missing, and tells it from one with other bytes', async () => {
  const file = await backup([K2])
  assert.throws(
    () => readManifest(file, [K1]),
    /sealed with root key "k2", which is not configured/,
  )
  assert.throws(() => readManifest(file, [{ ...K1, id: 'k2' }]), /does not match root key "k2"/)
})

test('does not overwrite a file, and leaves nothing behind when the copy fails', async () => {
  const file = await backup()
  const again = writeBackup(
    file,
    { store: 'sqlite', now: 0, version: '1', rootKeys: [K1] },
    () => 1,
  )
  await assert.rejects(again, /exists/)
  const failing = newFile()
  const failed = writeBackup(
    failing,
    { store: 'sqlite', now: 0, version: '1', rootKeys: [K1] },
    () => Promise.reject(new Error('the disk failed')),
  )
  await assert.rejects(failed, /the disk failed/)
  const left = readdirSync(folder).filter((name) => join(folder, name).startsWith(failing))
  assert.deepEqual(left, [])
})

test('writes a file although a backup of the same process id was interrupted', async () => {
  const file = newFile()
  // In a container, each run has the process id 1.
  writeFileSync(`${file}.part-${process.pid}`, 'half a copy')
  await writeBackup(
    file,
    { store: 'sqlite', now: 0, version: '1.2.3', rootKeys: [K1] },
    (draft) => {
      writeFileSync(draft, PAYLOAD)
      return 13
    },
  )
  assert.equal(readManifest(file, [K1]).bytes, PAYLOAD.length)
})
