import { join } from 'node:path'
import { writePage } from '../proofs/break-this-bond/build.ts'
import { loadGame } from '../proofs/break-this-bond/prove-game.ts'
import { buildSite, installSite } from './site/build.ts'
import { ROOT } from './site/documents.ts'
import { serveSite } from './site/serve.ts'

/**
 * `npm run docs`: builds the documentation site with the page of the game, and serves it.
 * `-- --build` only builds.
 */
const SITE = join(ROOT, 'site')

console.log('Installing the generator, if it is not installed …')
installSite(SITE)
console.log('Building the site …')
buildSite(SITE)
await writePage(join(SITE, 'dist/break-this-bond'), (await loadGame()).LEVELS)
if (process.argv.includes('--build')) console.log('Built in site/dist')
else console.log(`Open ${(await serveSite(SITE)).origin}`)
