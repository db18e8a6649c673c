// Starts the service once and stops it, so that V8's cache of its compiled code is in the image.
// The container cannot write the cache, and Node keeps one for each user: it is filled by the user
// that serves, and then belongs to root.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

const [app = '', user = ''] = process.argv.slice(2)
const uid = Number(user)
const cache = join(app, 'node_modules/.cache/bonded')
const data = mkdtempSync(join(tmpdir(), 'bonded-build-'))

// Another umask could let a group write the cache, or keep the service from reading it.
process.umask(0o022)

const give = (owner) => {
  chownSync(cache, owner, owner)
  for (const name of readdirSync(cache, { recursive: true }))
    chownSync(join(cache, name), owner, owner)
}

mkdirSync(cache, { recursive: true })
give(uid)
chownSync(data, uid, uid)
const service = spawn(
  process.execPath,
  [join(app, 'packages/service/bin/bonded.js'), 'serve', '--json'],
  {
    cwd: data,
    env: { BONDED_DATA_DIR: data, BONDED_HOST: '127.0.0.1', BONDED_PORT: '0', TMPDIR: data },
    gid: uid,
    uid,
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
const ended = once(service, 'exit')
// The line that says where it listens. The cache is written when the process ends.
await Promise.race([once(service.stdout, 'data'), ended])
service.stdout.resume()
service.kill('SIGTERM')
const [code] = await ended
give(0)
rmSync(data, { recursive: true })
process.exit(code ?? 1)
