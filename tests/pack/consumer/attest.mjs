// Verifies an Android key attestation with the installed package, and rejects a replayed one.
import { generateKeyPairSync } from 'node:crypto'
import process from 'node:process'
import { verifyAndroidKeyAttestation } from '@bonded/attestation/android'
import {
  androidAppId,
  createAndroidAuthority,
  honestDescription,
  SIMULATED_APP,
} from '@bonded/simulator'

const authority = createAndroidAuthority()
const challenge = Buffer.alloc(32, 5)
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const chain = authority.attest(publicKey, honestDescription(challenge))
const policy = {
  roots: new Set([authority.rootKeyDigest]),
  testRoots: new Set(),
  apps: [
    {
      package: SIMULATED_APP.package,
      certificateDigests: [androidAppId(SIMULATED_APP).split(':')[1] ?? ''],
    },
  ],
  minPatchLevel: null,
  ownerBootKeys: new Set(),
  userAuthenticationWithinSeconds: null,
}
const now = Date.now()
const honest = verifyAndroidKeyAttestation({ chain, challenge, now }, policy)
const replayed = verifyAndroidKeyAttestation({ chain, challenge: Buffer.alloc(32, 6), now }, policy)
console.log(JSON.stringify({ honest: honest.ok, replayed: replayed.ok }))
process.exit(0)
