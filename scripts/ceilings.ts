import type { Ceiling } from './lines/compare.ts'

/**
 * What `npm run lines -- --check` allows at most, and why. CONTRIBUTING.md says when a ceiling may
 * rise. The one of a package is rounded up to fifty lines, so that code can move between packages;
 * the one of all packages is not.
 */
export const CEILINGS: Readonly<Record<string, Ceiling>> = {
  'packages/attestation': {
    ceiling: 3_450,
    reason: 'A bank audits every line that decides whether a key or a passport is genuine.',
  },
  'packages/ciba': {
    ceiling: 1_170,
    reason: 'The OpenID provider translates a standard, and has no rules of its own.',
  },
  'packages/cli': {
    ceiling: 4_230,
    reason: 'A command reads its options and calls an operation, which has the rules.',
  },
  'packages/console': {
    ceiling: 2_750,
    reason: 'The pages show what operations return, and need no framework.',
  },
  'packages/contract': {
    ceiling: 3_560,
    reason: 'Every client implements the wire format, so each member of it costs all of them.',
  },
  'packages/core': {
    ceiling: 8_510,
    reason: 'A reviewer must be able to read all rules of the service within days.',
  },
  'packages/integrator': {
    ceiling: 4_240,
    reason: 'A tenant installs it in the backend that it protects, and reviews it before.',
  },
  'packages/phone': {
    ceiling: 1_710,
    reason: 'A bank reviews what it adds to its app, and a port to another language repeats it.',
  },
  'packages/phone-page': {
    ceiling: 3_980,
    reason: 'A phone without an app loads these pages over a mobile network.',
  },
  'packages/sandbox': {
    ceiling: 1_750,
    reason: 'The tools of a first trial stay smaller than the service that they try.',
  },
  'packages/server': {
    ceiling: 9_150,
    reason: 'Everything that an anonymous caller reaches is here, so it is what an attacker reads.',
  },
  'packages/service': {
    ceiling: 150,
    reason: 'It only selects what an installation of the service contains.',
  },
  'packages/simulator': {
    ceiling: 1_850,
    reason: 'A test proves as much as the simulated phone is worth, so a reviewer reads it too.',
  },
  'packages/store': {
    ceiling: 5_850,
    reason: 'Its promises hold on two databases, so every statement is tested on both.',
  },
  'packages/widget': {
    ceiling: 3_350,
    reason: 'It runs in the pages of tenants, whose security teams review it.',
  },
  packages: {
    ceiling: 55_402,
    reason: 'A team that adopts the service maintains all of it, so a new line needs a reason.',
  },
  'packages and proofs': {
    ceiling: 61_239,
    reason: 'Code that moves from the packages to the proofs still has to be maintained.',
  },
  'lines of Python': {
    ceiling: 2_112,
    reason: 'A tenant installs it in the backend that it protects, and reviews it before.',
  },
  'words of Markdown': {
    ceiling: 150_000,
    reason: 'A reader finds an answer only in documents that are short enough to search.',
  },
  'bytes of the hosted script': {
    ceiling: 14_400,
    reason: 'Every page of a tenant loads the script, compressed with gzip, also on slow networks.',
  },
  'lines of checks.ts and run-checks.ts': {
    ceiling: 380,
    reason: 'The checks of the protocol stay a table that a reviewer reads from top to bottom.',
  },
  settings: {
    ceiling: 44,
    reason:
      'An operator has to understand every setting, and every pair of them is a case to test.',
  },
  commands: {
    ceiling: 78,
    reason: 'An operator has to find the right command in the help.',
  },
}
