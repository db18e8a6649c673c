import { readFile } from 'node:fs/promises'
import type { Reply } from '../http/reply.ts'

const TYPES = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const
const NAMES = [
  'activity.css',
  'activity.js',
  'agent.css',
  'agent.js',
  'live.js',
  'phone.css',
  'phone.js',
  'relay.css',
  'relay.js',
] as const

/** Reads the styles and scripts of the pages, by path. */
export async function readFiles(): Promise<ReadonlyMap<string, Reply>> {
  const files = NAMES.map(async (name): Promise<[string, Reply]> => {
    const body = await readFile(new URL(`../../browser/${name}`, import.meta.url), 'utf8')
    const type = TYPES[name.endsWith('.js') ? 'js' : 'css']
    return [`/${name}`, { status: 200, type, body }]
  })
  return new Map(await Promise.all(files))
}
