import { type Tlv, TAG, unlessMalformed } from '../asn1/tlv.ts'
import { readInteger, readOctets, readOid, readSequence } from '../asn1/values.ts'

/** A curve over a prime field, with cofactor 1. The numbers are hex of the length of the field. */
export interface Curve {
  readonly name: string
  /** The object identifier, DER in hex. */
  readonly id: string
  readonly p: string
  readonly a: string
  readonly b: string
  /** The generator, uncompressed: 04, x, y. */
  readonly g: string
  /** The order of the generator. */
  readonly n: string
}

const PRIME_FIELD = '1.2.840.10045.1.1'

/**
 * Returns the curve of EC parameters: a name, or explicit numbers that are those of a named curve.
 * Undefined for any other parameters. States write explicit numbers. On a curve that an attacker
 * chose, verification can take long, or accept signatures of a key that the attacker does not have.
 */
export function curveOf(parameters: Tlv | undefined): Curve | undefined {
  if (parameters?.tag === TAG.oid)
    return CURVES.find(({ id }) => parameters.whole.toString('hex') === id)
  return unlessMalformed(() => {
    const [, field, coefficients, base, order, cofactor] = readSequence(parameters)
    const [fieldType, prime] = readSequence(field)
    const [a, b] = readSequence(coefficients)
    const [p, n] = [readInteger(prime), readInteger(order)]
    if (readOid(fieldType) !== PRIME_FIELD) return undefined
    if (cofactor?.tag === TAG.integer && readInteger(cofactor) !== 1n) return undefined
    const point = readOctets(base).toString('hex')
    return CURVES.find(
      (curve) =>
        p === numberOf(curve.p) &&
        n === numberOf(curve.n) &&
        numberOf(readOctets(a).toString('hex')) === numberOf(curve.a) &&
        numberOf(readOctets(b).toString('hex')) === numberOf(curve.b) &&
        [curve.g, compressed(curve)].includes(point),
    )
  })
}

/** Hex as a number. */
export function numberOf(hex: string): bigint {
  return BigInt(`0x${hex}`)
}

function compressed({ g, p }: Curve): string {
  const isOdd = (numberOf(g.slice(-1)) & 1n) === 1n
  return `${isOdd ? '03' : '02'}${g.slice(2, 2 + p.length)}`
}

/**
 * The curves of Doc 9303-12 and BSI TR-03116-2, as OpenSSL prints them (`openssl ecparam -text
 * -param_enc explicit`).
 */
const CURVES: readonly Curve[] = [
  {
    name: 'prime192v1',
    id: '06082a8648ce3d030101',
    p: 'fffffffffffffffffffffffffffffffeffffffffffffffff',
    a: 'fffffffffffffffffffffffffffffffefffffffffffffffc',
    b: '64210519e59c80e70fa7e9ab72243049feb8deecc146b9b1',
    g:
      '04188da80eb03090f67cbf20eb43a18800f4ff0afd82ff101207192b95ffc8da78631011ed6b24cdd573f977' +
      'a11e794811',
    n: 'ffffffffffffffffffffffff99def836146bc9b1b4d22831',
  },
  {
    name: 'secp224r1',
    id: '06052b81040021',
    p: 'ffffffffffffffffffffffffffffffff000000000000000000000001',
    a: 'fffffffffffffffffffffffffffffffefffffffffffffffffffffffe',
    b: 'b4050a850c04b3abf54132565044b0b7d7bfd8ba270b39432355ffb4',
    g:
      '04b70e0cbd6bb4bf7f321390b94a03c1d356c21122343280d6115c1d21bd376388b5f723fb4c22dfe6cd4375' +
      'a05a07476444d5819985007e34',
    n: 'ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3d',
  },
  {
    name: 'prime256v1',
    id: '06082a8648ce3d030107',
    p: 'ffffffff00000001000000000000000000000000ffffffffffffffffffffffff',
    a: 'ffffffff00000001000000000000000000000000fffffffffffffffffffffffc',
    b: '5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b',
    g:
      '046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb' +
      '4a7c0f9e162bce33576b315ececbb6406837bf51f5',
    n: 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
  },
  {
    name: 'secp384r1',
    id: '06052b81040022',
    p:
      'fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000' +
      'ffffffff',
    a:
      'fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000' +
      'fffffffc',
    b:
      'b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8ed' +
      'd3ec2aef',
    g:
      '04aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e' +
      '3872760ab73617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e81' +
      '9d7a431d7c90ea0e5f',
    n:
      'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196a' +
      'ccc52973',
  },
  {
    name: 'secp521r1',
    id: '06052b81040023',
    p:
      '01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff' +
      'ffffffffffffffffffffffffffffffffffffffffffff',
    a:
      '01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff' +
      'fffffffffffffffffffffffffffffffffffffffffffc',
    b:
      '0051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652' +
      'c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00',
    g:
      '0400c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe' +
      '1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66011839296a789a3bc0045c8a5fb42c7d1bd998f544' +
      '49579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd166' +
      '50',
    n:
      '01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc' +
      '0148f709a5d03bb5c9b8899c47aebb6fb71e91386409',
  },
  {
    name: 'brainpoolP160r1',
    id: '06092b2403030208010101',
    p: 'e95e4a5f737059dc60dfc7ad95b3d8139515620f',
    a: '340e7be2a280eb74e2be61bada745d97e8f7c300',
    b: '1e589a8595423412134faa2dbdec95c8d8675e58',
    g: '04bed5af16ea3f6a4f62938c4631eb5af7bdbcdbc31667cb477a1a8ec338f94741669c976316da6321',
    n: 'e95e4a5f737059dc60df5991d45029409e60fc09',
  },
  {
    name: 'brainpoolP192r1',
    id: '06092b2403030208010103',
    p: 'c302f41d932a36cda7a3463093d18db78fce476de1a86297',
    a: '6a91174076b1e0e19c39c031fe8685c1cae040e5c69a28ef',
    b: '469a28ef7c28cca3dc721d044f4496bcca7ef4146fbf25c9',
    g:
      '04c0a0647eaab6a48753b033c56cb0f0900a2f5c4853375fd614b690866abd5bb88b5f4828c1490002e6773f' +
      'a2fa299b8f',
    n: 'c302f41d932a36cda7a3462f9e9e916b5be8f1029ac4acc1',
  },
  {
    name: 'brainpoolP224r1',
    id: '06092b2403030208010105',
    p: 'd7c134aa264366862a18302575d1d787b09f075797da89f57ec8c0ff',
    a: '68a5e62ca9ce6c1c299803a6c1530b514e182ad8b0042a59cad29f43',
    b: '2580f63ccfe44138870713b1a92369e33e2135d266dbb372386c400b',
    g:
      '040d9029ad2c7e5cf4340823b2a87dc68c9e4ce3174c1e6efdee12c07d58aa56f772c0726f24c6b89e4ecdac' +
      '24354b9e99caa3f6d3761402cd',
    n: 'd7c134aa264366862a18302575d0fb98d116bc4b6ddebca3a5a7939f',
  },
  {
    name: 'brainpoolP256r1',
    id: '06092b2403030208010107',
    p: 'a9fb57dba1eea9bc3e660a909d838d726e3bf623d52620282013481d1f6e5377',
    a: '7d5a0975fc2c3057eef67530417affe7fb8055c126dc5c6ce94a4b44f330b5d9',
    b: '26dc5c6ce94a4b44f330b5d9bbd77cbf958416295cf7e1ce6bccdc18ff8c07b6',
    g:
      '048bd2aeb9cb7e57cb2c4b482ffc81b7afb9de27e1e3bd23c23a4453bd9ace3262547ef835c3dac4fd97f846' +
      '1a14611dc9c27745132ded8e545c1d54c72f046997',
    n: 'a9fb57dba1eea9bc3e660a909d838d718c397aa3b561a6f7901e0e82974856a7',
  },
  {
    name: 'brainpoolP320r1',
    id: '06092b2403030208010109',
    p: 'd35e472036bc4fb7e13c785ed201e065f98fcfa6f6f40def4f92b9ec7893ec28fcd412b1f1b32e27',
    a: '3ee30b568fbab0f883ccebd46d3f3bb8a2a73513f5eb79da66190eb085ffa9f492f375a97d860eb4',
    b: '520883949dfdbc42d3ad198640688a6fe13f41349554b49acc31dccd884539816f5eb4ac8fb1f1a6',
    g:
      '0443bd7e9afb53d8b85289bcc48ee5bfe6f20137d10a087eb6e7871e2a10a599c710af8d0d39e2061114fdd0' +
      '5545ec1cc8ab4093247f77275e0743ffed117182eaa9c77877aaac6ac7d35245d1692e8ee1',
    n: 'd35e472036bc4fb7e13c785ed201e065f98fcfa5b68f12a32d482ec7ee8658e98691555b44c59311',
  },
  {
    name: 'brainpoolP384r1',
    id: '06092b240303020801010b',
    p:
      '8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b412b1da197fb71123acd3a729901d1a7187470013' +
      '3107ec53',
    a:
      '7bc382c63d8c150c3c72080ace05afa0c2bea28e4fb22787139165efba91f90f8aa5814a503ad4eb04a8c7dd' +
      '22ce2826',
    b:
      '04a8c7dd22ce28268b39b55416f0447c2fb77de107dcd2a62e880ea53eeb62d57cb4390295dbc9943ab78696' +
      'fa504c11',
    g:
      '041d1c64f068cf45ffa2a63a81b7c13f6b8847a3e77ef14fe3db7fcafe0cbd10e8e826e03436d646aaef87b2' +
      'e247d4af1e8abe1d7520f9c2a45cb1eb8e95cfd55262b70b29feec5864e19c054ff99129280e464621779181' +
      '1142820341263c5315',
    n:
      '8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b31f166e6cac0425a7cf3ab6af6b7fc3103b883202' +
      'e9046565',
  },
  {
    name: 'brainpoolP512r1',
    id: '06092b240303020801010d',
    p:
      'aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca703308717d4d9b009bc66842aecda12a' +
      'e6a380e62881ff2f2d82c68528aa6056583a48f3',
    a:
      '7830a3318b603b89e2327145ac234cc594cbdd8d3df91610a83441caea9863bc2ded5d5aa8253aa10a2ef1c9' +
      '8b9ac8b57f1117a72bf2c7b9e7c1ac4d77fc94ca',
    b:
      '3df91610a83441caea9863bc2ded5d5aa8253aa10a2ef1c98b9ac8b57f1117a72bf2c7b9e7c1ac4d77fc94ca' +
      'dc083e67984050b75ebae5dd2809bd638016f723',
    g:
      '0481aee4bdd82ed9645a21322e9c4c6a9385ed9f70b5d916c1b43b62eef4d0098eff3b1f78e2d0d48d50d168' +
      '7b93b97d5f7c6d5047406a5e688b352209bcb9f8227dde385d566332ecc0eabfa9cf7822fdf209f70024a57b' +
      '1aa000c55b881f8111b2dcde494a5f485e5bca4bd88a2763aed1ca2b2fa8f0540678cd1e0f3ad80892',
    n:
      'aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca70330870553e5c414ca9261941866119' +
      '7fac10471db1d381085ddaddb58796829ca90069',
  },
]
