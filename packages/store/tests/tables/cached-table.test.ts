import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Work } from '../../../core/src/ports/work.ts'
import { type CacheRules, cachedTable } from '../../src/tables/cached-table.ts'

interface Names {
  find(id: string): Work<string | undefined>
  store(id: string, name: string): Work<boolean>
  count(): Work<number>
}

const STORED: Names = {
  *find() {
    return (yield 'a statement') as string
  },
  *store(_, name) {
    yield 'a statement'
    return name !== 'refused'
  },
  *count() {
    return (yield 'a statement') as number
  },
}

function cachedNames(entries: Map<string, string>): Names {
  return cachedTable<Names>(STORED, {
    find: {
      *read(id) {
        return entries.get(id) ?? (yield* STORED.find(id))
      },
    },
    store: {
      write(id, name) {
        entries.delete(id)
        return (stored) => void (stored && entries.set(id, name))
      },
    },
    count: 'passed',
  })
}

function driven<T>(work: Work<T>): T {
  let step = work.next()
  while (step.done !== true) step = work.next(1)
  return step.value
}

test('rules that leave out a method do not compile', () => {
  // @ts-expect-error -- `store` has no rule, so it could leave an outdated entry.
  const rules: CacheRules<Names> = { find: 'passed', count: 'passed' }
  assert.equal('store' in rules, false)
})

test('answers a read from the cache, and passes a listed method on', () => {
  const names = cachedNames(new Map([['a', 'cached']]))
  assert.equal(driven(names.find('a')), 'cached')
  assert.equal(driven(names.count()), 1)
})

test('drops the entry before the write runs, and adds one after it has returned', () => {
  const entries = new Map([['a', 'cached']])
  const names = cachedNames(entries)
  const write = names.store('a', 'new')
  write.next()
  assert.equal(entries.has('a'), false)
  assert.equal(write.next().value, true)
  assert.equal(entries.get('a'), 'new')
  assert.equal(driven(names.store('a', 'refused')), false)
  assert.equal(entries.has('a'), false)
})

test('leaves no entry behind if the write throws', () => {
  const entries = new Map([['a', 'cached']])
  const write = cachedNames(entries).store('a', 'new')
  write.next()
  assert.throws(() => write.throw(new Error('the disk is full')))
  assert.equal(entries.size, 0)
})
