import { join } from 'node:path'
import { buildSite, installSite } from './site/build.ts'
import { ROOT } from './site/documents.ts'
import { serveSite } from './site/serve.ts'

/** `npm run docs`: builds the documentation site and serves it. `-- --build` only builds. */
const SITE = join(ROOT, 'site')

console.log('Installing the generator, if it is not installed …')
installSite(SITE)
console.log('Building the site …')
buildSite(SITE)
if (process.argv.includes('--build')) console.log('Built in site/dist')
else console.log(`Open ${(await serveSite(SITE)).origin}`)
