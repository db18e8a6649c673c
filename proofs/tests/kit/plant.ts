import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Fault } from './child-adapter.ts'

/* Loads one module of the product with the fault in KIT_FAULT. */

const { file, from, to } = JSON.parse(process.env['KIT_FAULT'] ?? '') as Fault

registerHooks({
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith(`/packages/${file}`)) return next(url, context)
    const text = readFileSync(fileURLToPath(url), 'utf8')
    if (text.split(from).length !== 2) throw new Error(`${file} does not have once: ${from}`)
    const source = stripTypeScriptTypes(text.replace(from, to))
    return { format: 'module', source, shortCircuit: true }
  },
})
