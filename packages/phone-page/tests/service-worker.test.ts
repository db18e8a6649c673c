import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { loadPhonePage } from '../build/bundle.ts'
import words from '../wake-words.json' with { type: 'json' }

const { serviceWorker } = await loadPhonePage()

interface FakeWindow {
  readonly url: string
  readonly visibilityState: string
}

/** Runs the worker with nothing but what it may use: no request, no storage, no cache. */
function startWorker(windows: readonly FakeWindow[], languages = ['en']) {
  const done: string[] = []
  const listeners = new Map<string, (event: object) => void>()
  runInNewContext(serviceWorker, {
    addEventListener: (type: string, listener: (event: object) => void) =>
      listeners.set(type, listener),
    navigator: { languages },
    URL,
    clients: {
      matchAll: async () =>
        windows.map((each) => ({ ...each, focus: async () => done.push(`focus ${each.url}`) })),
      openWindow: async (url: string) => done.push(`open ${url}`),
    },
    registration: {
      showNotification: async (...shown: unknown[]) => done.push(JSON.stringify(shown)),
    },
  })
  const dispatch = async (type: string, data?: object) => {
    let work: Promise<unknown> | undefined
    listeners.get(type)?.({
      notification: { close: () => done.push('close') },
      data,
      waitUntil: (given: Promise<unknown>) => (work = given),
    })
    await work
    return done
  }
  return { listeners, dispatch }
}

const INBOX = 'https://bond.example/inbox'

test('listens only to messages, and to clicks on its notification', () => {
  assert.deepEqual([...startWorker([]).listeners.keys()], ['push', 'notificationclick'])
})

test('shows one constant sentence, whatever the message says', async () => {
  const data = { text: () => 'Approve now', json: () => ({ title: 'Approve now' }) }
  for (const [languages, text] of [
    [['en-US'], 'A request is waiting'],
    [['de-AT', 'en'], words.de],
    [['tlh'], 'A request is waiting'],
  ] as const) {
    const { dispatch } = startWorker([{ url: INBOX, visibilityState: 'hidden' }], [...languages])
    assert.deepEqual(await dispatch('push', data), [JSON.stringify([text, { tag: 'inbox' }])])
  }
})

test('shows nothing while the inbox is visible', async () => {
  const visible = { url: `${INBOX}?a`, visibilityState: 'visible' }
  assert.deepEqual(await startWorker([visible]).dispatch('push'), [])
  const other = { url: 'https://bond.example/bond', visibilityState: 'visible' }
  assert.equal((await startWorker([other]).dispatch('push')).length, 1)
})

test('a click opens the inbox, or the window that has it', async () => {
  const other = { url: 'https://bond.example/bond', visibilityState: 'hidden' }
  assert.deepEqual(await startWorker([other]).dispatch('notificationclick'), [
    'close',
    'open /inbox',
  ])
  const known = { url: INBOX, visibilityState: 'hidden' }
  const done = await startWorker([other, known]).dispatch('notificationclick')
  assert.deepEqual(done, ['close', `focus ${INBOX}`])
})

test('has its sentence in each language of the page', async () => {
  const { languages } = await loadPhonePage()
  const tags = [...languages.keys()].filter((tag) => !tag.startsWith('inbox-'))
  assert.deepEqual(Object.keys(words).toSorted(), ['en', ...tags].toSorted())
})
