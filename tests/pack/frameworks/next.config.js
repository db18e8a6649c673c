// The packages of the frameworks are in the folder above a project.
import { resolve } from 'node:path'

export default { turbopack: { root: resolve(import.meta.dirname, '..') } }
