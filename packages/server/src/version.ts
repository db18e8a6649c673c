import manifest from '../package.json' with { type: 'json' }

/** The version of this package, and of all that are released with it. */
export const VERSION: string = manifest.version
