import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { mayIssue, readMasterList, readStateCertificate } from '@bonded/attestation/passport'
import type { Certificate } from '@bonded/attestation/x509'
import type { Instant } from '@bonded/core/domain/session'
import { type PassportTrust, PassportTrustError } from './passport-trust.ts'

const SANDBOX = 'sandbox'
const CERTIFICATE_FILES = ['.cer', '.crt', '.der', '.pem']
const MASTER_LIST_FILE = '.ml'

/**
 * Reads the operator's trust folder. It trusts certificates (`.cer`, `.crt`, `.der`, `.pem`)
 * directly and master lists (`.ml`) whose signer one of those certificates issued. The certificates
 * in its folder `sandbox` apply to sandbox tenants only.
 *
 * @throws {PassportTrustError} listing every unusable file
 */
export function readTrustFolder(folder: string, now: Instant): PassportTrust {
  const mistakes: string[] = []
  const production = readFolder(folder, { now, mistakes })
  const sandbox = readFolder(join(folder, SANDBOX), { now, mistakes })
  if (mistakes.length > 0) throw new PassportTrustError(mistakes)
  // Each certificate is a view into a large file buffer; a copy lets that buffer be collected.
  const copies = (certificates: readonly Certificate[]) =>
    certificates.map(({ encoded }) => new Uint8Array(encoded))
  return { production: copies(production), sandbox: copies(sandbox) }
}

function readFolder(
  folder: string,
  { now, mistakes }: { now: Instant; mistakes: string[] },
): Certificate[] {
  const names = existsSync(folder)
    ? readdirSync(folder).filter((name) => !name.startsWith('.') && name !== SANDBOX)
    : []
  const files = names.map((name) => ({
    path: join(folder, name),
    kind: extname(name).toLowerCase(),
  }))
  for (const { path, kind } of files) {
    if (kind !== MASTER_LIST_FILE && !CERTIFICATE_FILES.includes(kind))
      mistakes.push(
        `${path} is neither a master list (.ml) nor a certificate (${CERTIFICATE_FILES.join(', ')})`,
      )
  }
  const roots = files
    .filter(({ kind }) => CERTIFICATE_FILES.includes(kind))
    .flatMap(({ path }) => readRoots(path, mistakes))
  const listed = files
    .filter(({ kind }) => kind === MASTER_LIST_FILE)
    .flatMap(({ path }) => readListed(path, { roots, now, mistakes }))
  return [...roots, ...listed]
}

function readRoots(path: string, mistakes: string[]): Certificate[] {
  const roots = certificatesIn(readFileSync(path)).map(readStateCertificate)
  const usable = roots.filter((root) => root !== undefined).filter(mayIssue)
  if (usable.length < roots.length)
    mistakes.push(`${path} is no certificate of a country that may sign others`)
  return usable
}

/** The certificates of a file: one in DER, or any number in PEM. */
function certificatesIn(bytes: Buffer): Buffer[] {
  const armoured = bytes
    .toString('latin1')
    .matchAll(/-----BEGIN CERTIFICATE-----([\sA-Za-z0-9+/=]+)-----END CERTIFICATE-----/g)
  const read = [...armoured].map(([, base64 = '']) => Buffer.from(base64, 'base64'))
  return read.length > 0 ? read : [bytes]
}

function readListed(
  path: string,
  { roots, now, mistakes }: { roots: readonly Certificate[]; now: Instant; mistakes: string[] },
): readonly Certificate[] {
  const list = readMasterList(readFileSync(path), { roots, now })
  if (list.ok) return list.value.certificates
  mistakes.push(
    `${path} is refused at ${list.step}${list.step === 'signer_unknown' ? ': put the certificate of the country that signed it beside it' : ''}`,
  )
  return []
}
