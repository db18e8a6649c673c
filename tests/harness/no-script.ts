import type { ScriptSource } from '../../packages/server/src/http/pages/hosted-script.ts'

/** The hosted script of a test whose pages do not load it. */
export const NO_SCRIPT: ScriptSource = {
  version: '0.0.0',
  load: async () => ({ source: '', integrity: '', sourceMap: '{}', files: [] }),
}
