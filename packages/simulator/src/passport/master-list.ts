import { integer, sequence, setOf } from '../test-pki/der.ts'
import type { PassportAuthority } from './authority.ts'
import { createSignedData } from './signed-data.ts'
import { createPassportSigner, type PassportSignatureOptions, USUAL_SIGNATURE } from './signer.ts'

const MASTER_LIST = '2.23.136.1.1.2'
const MASTER_LIST_SIGNING = '2.23.136.1.1.3'
const DAY_MS = 86_400_000

/** Creates a master list of these certificates, signed by a new list signer of the state. */
export function createMasterList(
  authority: PassportAuthority,
  {
    certificates,
    now,
    purposes = [MASTER_LIST_SIGNING],
    signature = USUAL_SIGNATURE,
  }: {
    certificates: readonly Uint8Array[]
    now: number
    purposes?: readonly string[]
    signature?: PassportSignatureOptions
  },
): Buffer {
  const signer = createPassportSigner(signature)
  const { publicKey } = signer
  const signerCertificate = authority.issue({
    publicKey,
    name: 'Simulated List Signer',
    notBefore: now - DAY_MS,
    notAfter: now + DAY_MS,
    purposes,
  })
  const content = sequence(integer(0), setOf(...certificates))
  const all = [signerCertificate, authority.countryCertificate]
  return createSignedData({
    contentType: MASTER_LIST,
    content,
    certificates: all,
    signerCertificate,
    signer,
    signingTime: now,
  })
}
