import { X509Certificate } from 'node:crypto'

/** One member of an entry: the values that it accepts, and its default. */
interface Member {
  readonly expects: string
  readonly takes: (value: unknown) => boolean
  /** Absent: the member is required. */
  readonly fallback?: unknown
}

type Members = Readonly<Record<string, Member>>

/** A part of the file: a list of entries, or one entry. */
interface Section {
  readonly about: string
  readonly many: boolean
  readonly members: Members
}

const isText = (form: RegExp) => (value: unknown) => typeof value === 'string' && form.test(value)
const isListOf = (takes: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(takes)
const isOneOf = (words: readonly unknown[]) => (value: unknown) => words.includes(value)
const isWhole = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0

/** Formats of app stores and build tools. */
const TEAM_ID = /^[A-Z0-9]{10}$/
const BUNDLE_ID = /^[A-Za-z0-9.-]{1,155}$/
const PACKAGE = /^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/
/** SHA-256 in hexadecimal, with the colons of keytool or without. */
const DIGEST = /^[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}$/
const VERSION = /^\d{1,9}(\.\d{1,9}){0,2}$/
const PATCH_LEVEL = /^\d{4}(0[1-9]|1[0-2])$/

const isMinimum = (value: unknown) =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).join() === 'minimum' &&
  isText(VERSION)(Object.values(value)[0])
const ROOTS: Member = {
  expects: 'a list of certificates (PEM)',
  takes: isListOf(isCertificate),
  fallback: [],
}

/** The file of `BONDED_PHONES`. The parser and the reference page both use this table. */
export const PHONES_FILE = {
  apple_apps: {
    about: 'The iOS apps whose App Attest keys may register.',
    many: true,
    members: {
      team_id: { expects: 'ten capital letters and digits', takes: isText(TEAM_ID) },
      bundle_id: { expects: 'a bundle id', takes: isText(BUNDLE_ID) },
      environments: {
        expects: 'a list of production and development; keys of development are sandbox keys',
        takes: isListOf(isOneOf(['production', 'development'])),
        fallback: ['production'],
      },
      categories: {
        expects:
          'a list of validation categories: 4 App Store, 2 TestFlight, 3 development, 5 enterprise',
        takes: isListOf(isWhole),
        fallback: [4],
      },
      missing: {
        expects: 'allow or refuse phones before iOS 27, which report no category',
        takes: isOneOf(['allow', 'refuse']),
        fallback: 'allow',
      },
      bundle_versions: {
        expects: 'any, a list of versions, or minimum: a version',
        takes: (value: unknown) =>
          value === 'any' || isMinimum(value) || isListOf((one) => typeof one === 'string')(value),
        fallback: 'any',
      },
    },
  },
  android_apps: {
    about: 'The Android apps whose keys may register.',
    many: true,
    members: {
      package: { expects: 'a package name', takes: isText(PACKAGE) },
      certificate_digests: {
        expects: 'a list of SHA-256 digests of signing certificates, in hexadecimal',
        takes: (value: unknown) =>
          isListOf(isText(DIGEST))(value) && (value as readonly unknown[]).length > 0,
      },
    },
  },
  android: {
    about: 'Requirements for Android keys, including those of browsers.',
    many: false,
    members: {
      min_patch_level: {
        expects: 'the oldest accepted security patch, as YYYYMM, or null',
        takes: isPatchLevel,
        fallback: null,
      },
      extra_roots: { ...ROOTS, expects: `${ROOTS.expects}, trusted beside Google’s` },
      owner_boot_keys: {
        expects:
          'a list of boot keys (SHA-256, in hexadecimal) of systems that an owner may install and lock',
        takes: isListOf(isText(DIGEST)),
        fallback: [],
      },
      user_authentication_within_seconds: {
        expects:
          'seconds after unlocking during which the hardware may sign assertions, 0 to require the user each time, or null for no requirement',
        takes: (value: unknown) => value === null || isWhole(value),
        fallback: null,
      },
    },
  },
  webauthn: {
    about: 'Manufacturers of authenticators that browsers use.',
    many: false,
    members: {
      packed_roots: { ...ROOTS, expects: `${ROOTS.expects} for attestations in the format packed` },
    },
  },
} as const satisfies Readonly<Record<string, Section>>

/** The file of `BONDED_TEST_ROOTS`, which the simulated phone writes. */
export const TEST_ROOTS_FILE = {
  apple_apps: PHONES_FILE.apple_apps,
  android_apps: PHONES_FILE.android_apps,
  roots: {
    about: 'Test roots. Their private keys are not secret, so their phones are sandbox devices.',
    many: false,
    members: { apple: ROOTS, android: ROOTS, webauthn: ROOTS },
  },
} as const satisfies Readonly<Record<string, Section>>

type File = Readonly<Record<string, Section>>
type Entry = Readonly<Record<string, unknown>>
/** The file's parts, with every default filled in. */
export type FileOf<F extends File> = {
  readonly [Name in keyof F]: F[Name]['many'] extends true ? readonly Entry[] : Entry
}

/** A mistake in the file. */
export interface FileMistake {
  /** Where: `apple_apps.0.team_id`. Empty for the file itself. */
  readonly at: string
  readonly expected: string
}

/**
 * Reads the sections of a parsed file. Reports all mistakes; an invalid member gets its default.
 */
export function readSections<F extends File>(
  parsed: unknown,
  file: F,
): { sections: FileOf<F>; mistakes: readonly FileMistake[] } {
  const mistakes: FileMistake[] = []
  const members = isRecord(parsed) ? parsed : {}
  if (!isRecord(parsed))
    mistakes.push({ at: '', expected: `a file of ${Object.keys(file).join(', ')}` })
  for (const name of Object.keys(members))
    if (!(name in file))
      mistakes.push({ at: name, expected: `one of ${Object.keys(file).join(', ')}` })
  const sections = Object.entries(file).map(([name, section]) => {
    const given = members[name]
    if (!section.many)
      return [name, readEntry(given ?? {}, { at: name, members: section.members, mistakes })]
    if (given !== undefined && !Array.isArray(given))
      mistakes.push({ at: name, expected: 'a list' })
    const list: readonly unknown[] = Array.isArray(given) ? given : []
    return [
      name,
      list.map((entry, index) =>
        readEntry(entry, { at: `${name}.${index}`, members: section.members, mistakes }),
      ),
    ]
  })
  return { sections: Object.fromEntries(sections) as FileOf<F>, mistakes }
}

function readEntry(
  given: unknown,
  { at, members, mistakes }: { at: string; members: Members; mistakes: FileMistake[] },
): Entry {
  if (!isRecord(given)) {
    mistakes.push({ at, expected: `an entry of ${Object.keys(members).join(', ')}` })
    return {}
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(members, name))
      mistakes.push({ at: `${at}.${name}`, expected: `one of ${Object.keys(members).join(', ')}` })
  }
  return Object.fromEntries(
    Object.entries(members).map(([name, { expects, takes, fallback }]) => {
      const value = given[name] === undefined ? fallback : given[name]
      if (value === undefined || !takes(value))
        mistakes.push({ at: `${at}.${name}`, expected: expects })
      return [name, value]
    }),
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCertificate(value: unknown): boolean {
  if (typeof value !== 'string' || !value.includes('-----BEGIN CERTIFICATE-----')) return false
  try {
    return new X509Certificate(value).raw.length > 0
  } catch {
    return false
  }
}

/** YAML parses it as a number. */
function isPatchLevel(value: unknown): boolean {
  return value === null || PATCH_LEVEL.test(String(value))
}
