import { createHash } from 'node:crypto'
import type { Answer } from './answer.ts'

const YEAR_SECONDS = 31_536_000

/** A script or a style of the console. */
export interface StaticFile {
  /** It has the hash of the content, so that a browser keeps the file until it changes. */
  readonly path: string
  readonly answer: Answer
}

export function staticFile(name: string, type: 'javascript' | 'css', body: string): StaticFile {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16)
  const extension = type === 'css' ? 'css' : 'js'
  return {
    path: `/${name}-${hash}.${extension}`,
    answer: {
      status: 200,
      headers: {
        'content-type': `text/${type}; charset=utf-8`,
        'cache-control': `public, max-age=${YEAR_SECONDS}, immutable`,
      },
      body,
    },
  }
}

/** Nothing of a page comes from elsewhere, runs, or is framed. */
export const POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
/** For a page with a script of the console, which can write no markup. */
export const SCRIPT_POLICY = `${POLICY}; script-src 'self'; require-trusted-types-for 'script'`
