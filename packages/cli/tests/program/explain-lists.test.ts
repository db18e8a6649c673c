import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explain } from '../../src/program/explain.ts'
import { checkRpIds } from '../../../core/src/operations/admin/relying-parties.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import { reportNodes } from '../../../core/src/operations/maintenance/node-levels.ts'
import { StoreError, type Tables } from '../../../core/src/ports/store.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { readConfig } from '../../../server/src/settings/config.ts'
import { rejectOtherSettings } from '../../../store/src/postgres/node-settings.ts'
import { rejectUnmigrated } from '../../../store/src/postgres/runtime-rights.ts'
import {
  REQUIRED_SETTINGS,
  SESSION_SETTINGS,
} from '../../../store/src/postgres/server/session-settings.ts'
import { problemOf } from '../../../store/src/postgres/server/server-state.ts'
import type { Connections } from '../../../store/src/postgres/server/connections.ts'

const where = 'bonded at db.example'
const RIGHTS = { role: 'runtime', mayMigrate: false, unusable: [] }
const COMPARED = Object.keys({ ...SESSION_SETTINGS, ...REQUIRED_SETTINGS })
const keyOf = (id: string, first: number) => ({
  id,
  bytes: Uint8Array.from({ length: 32 }, (_, index) => first + index),
})

/** A store whose tables return these values. */
function storeOf(values: Readonly<Record<string, unknown>>) {
  const read = (name: string) =>
    function* () {
      yield* []
      return values[name]
    }
  const tables = {
    nodes: read('nodes'),
    usedLevel: read('usedLevel'),
    devices: { rpIds: read('rpIds') },
  }
  const run = (unit: (given: Tables) => Generator) => {
    const step = unit(tables as unknown as Tables).next()
    assert.ok(step.done)
    return Promise.resolve(step.value)
  }
  return { store: { read: run } } as unknown as Pick<Service, 'store'>
}

/** What rejects a start or a command for several reasons, each of which the operator removes. */
const REJECTED: Readonly<Record<string, { names: readonly string[]; run: () => unknown }>> = {
  'the root keys that open the key of session ids': {
    names: ['first', 'second', 'third'],
    run: () => {
      const listed = ['first', 'second', 'third'].map((id, index) => keyOf(id, index))
      const stored = keyringOf(listed).idKeys.create()
      return keyringOf([keyOf('other', 9)]).idKeys.open(stored)
    },
  },
  'the settings with a mistake': {
    names: ['BONDED_PORT', 'BONDED_PUBLIC_ORIGIN', 'BONDED_RATE_LIMITS'],
    run: () =>
      readConfig({
        BONDED_PORT: 'none',
        BONDED_PUBLIC_ORIGIN: 'none',
        BONDED_RATE_LIMITS: 'none',
      }),
  },
  'the RP IDs of stored passkeys': {
    names: [
      'RP ID a.example, b.example, c.example,',
      'BONDED_RP_ID_FORMER=former.example,a.example,b.example,c.example;',
    ],
    run: () =>
      checkRpIds(storeOf({ rpIds: ['a.example', 'b.example', 'c.example'] }), {
        rpId: 'now.example',
        formerRpIds: ['former.example'],
      }),
  },
  'the nodes of an older version': {
    names: ['node-1', 'node-2', 'node-3'],
    run: () => {
      const nodes = ['node-1', 'node-2', 'node-3'].map((node) => ({ node, level: 1 }))
      return reportNodes(storeOf({ nodes, usedLevel: 2 }))
    },
  },
  'the settings of a node that differ from those of the others': {
    names: ['BONDED_ONE', 'BONDED_TWO', 'BONDED_THREE'],
    run: () => {
      const names = ['BONDED_ONE', 'BONDED_TWO', 'BONDED_THREE']
      const rows = names.map((name) => ({ name, salt: 'salt', hash: 'of another value' }))
      const connections = {
        run: (work: (connection: object) => unknown) => work({ run: () => rows }),
        settings: { address: { shown: where } },
      }
      return rejectOtherSettings(
        connections as unknown as Connections,
        Object.fromEntries(names.map((name) => [name, 'mine'])),
      )
    },
  },
  'the settings of the server that change what the service reads': {
    names: COMPARED.flatMap((name) => [`${name} is other`, `set ${name} = `]),
    run: () => {
      const others = Object.fromEntries(COMPARED.map((name) => [name, 'other']))
      const usable = { version: '180000', standby: 'false', read_only: 'off' }
      const durable = { synchronous_commit: 'on', fsync: 'on', full_page_writes: 'on' }
      const problem = problemOf({ ...usable, ...durable, encoding: 'UTF8', ...others })
      throw new StoreError(`${where} cannot be used: ${String(problem)}`, {
        kind: 'unsuitable',
        where,
      })
    },
  },
  'the tables on which a role lacks rights': {
    names: ['session', 'device', 'tenant'],
    run: () => {
      const unusable = ['session', 'device', 'tenant']
      rejectUnmigrated({ ...RIGHTS, unusable }, { pending: [], where })
    },
  },
  'the migrations that a role may not run': {
    names: ['one_step', 'another_step', 'last_step'],
    run: () =>
      rejectUnmigrated(RIGHTS, { pending: ['one_step', 'another_step', 'last_step'], where }),
  },
}

for (const [what, { names, run }] of Object.entries(REJECTED))
  test(`an operator reads all of ${what}`, async () => {
    let message = ''
    try {
      await run()
    } catch (failure) {
      message = explain(failure).message
    }
    for (const name of names) assert.ok(message.includes(name), `${name}: ${message}`)
  })
