import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { der } from '@bonded/simulator'
import { readAuthorizationList } from '../src/android/authorization-list.ts'
import { GOOGLE_ROOT_CERTIFICATES } from '../src/android/google-roots.ts'
import { GOOGLE_STATUS_URL } from '../src/android/status-list.ts'
import { APP_ATTESTATION_ROOT, APPLE_ROOT_G3 } from '../src/apple/roots.ts'
import { Malformed, readTlv } from '../src/asn1/tlv.ts'
import { FIDO_METADATA_ROOT } from '../src/fido-metadata/root.ts'
import { isCountryOf } from '../src/passport/country.ts'
import { APPLE_WEBAUTHN_ROOT } from '../src/webauthn/roots.ts'
import { BROWSER_KEY_STORES } from '../src/webauthn/trust.ts'
import { digestOf, readAlgorithm, schemeOf } from '../src/x509/algorithm.ts'
import { ATTRIBUTE, readName } from '../src/x509/name.ts'

const { explicit, integer, nothing, octets, oid, printable, sequence, setOf, utf8 } = der

/** Of Android’s `Tag.aidl`, by the type of the value. The two composed ones have other tests. */
const TAGS: readonly (readonly [type: string, ...names: (readonly [number, string])[]])[] = [
  [
    'integers',
    [1, 'purposes'],
    [4, 'blockModes'],
    [5, 'digests'],
    [6, 'paddings'],
    [203, 'rsaOaepMgfDigests'],
  ],
  [
    'integer',
    [2, 'algorithms'],
    [3, 'keySize'],
    [8, 'minMacLength'],
    [10, 'ecCurve'],
    [11, 'mlDsaVariant'],
    [200, 'rsaPublicExponent'],
    [400, 'activeDateTime'],
    [401, 'originationExpireDateTime'],
    [402, 'usageExpireDateTime'],
    [405, 'usageCountLimit'],
    [504, 'userAuthType'],
    [505, 'authTimeout'],
    [701, 'creationDateTime'],
    [702, 'origin'],
    [705, 'osVersion'],
    [706, 'osPatchLevel'],
    [718, 'vendorPatchLevel'],
    [719, 'bootPatchLevel'],
  ],
  [
    'flag',
    [7, 'callerNonce'],
    [303, 'rollbackResistance'],
    [305, 'earlyBootOnly'],
    [503, 'noAuthRequired'],
    [506, 'allowWhileOnBody'],
    [507, 'trustedUserPresenceRequired'],
    [508, 'trustedConfirmationRequired'],
    [509, 'unlockedDeviceRequired'],
    [600, 'allApplications'],
    [703, 'rollbackResistant'],
    [720, 'deviceUniqueAttestation'],
  ],
  [
    'octets',
    [601, 'applicationId'],
    [710, 'attestationIdBrand'],
    [711, 'attestationIdDevice'],
    [712, 'attestationIdProduct'],
    [713, 'attestationIdSerial'],
    [714, 'attestationIdImei'],
    [715, 'attestationIdMeid'],
    [716, 'attestationIdManufacturer'],
    [717, 'attestationIdModel'],
    [723, 'attestationIdSecondImei'],
    [724, 'moduleHash'],
  ],
]
const VALUES: Readonly<Record<string, readonly [encoded: Buffer, read: unknown]>> = {
  integers: [setOf(integer(2), integer(3)), [2n, 3n]],
  integer: [integer(70_000), 70_000n],
  flag: [nothing(), true],
  octets: [octets('abc'), Buffer.from('abc')],
}

test('each tag of a key of Android is read under its number, by its name and with its type', () => {
  const numbers = new Set<number>([704, 709])
  for (const [type, ...names] of TAGS)
    for (const [number, name] of names) {
      numbers.add(number)
      for (const [given, [encoded, expected]] of Object.entries(VALUES)) {
        const read = () =>
          readAuthorizationList(readTlv(sequence(explicit(number, encoded)))) as Record<
            string,
            unknown
          >
        if (given !== type) assert.throws(read, Malformed, `${name} is no ${given}`)
        else assert.deepEqual(read(), { [name]: expected }, name)
      }
    }
  // An unknown tag might restrict the key.
  for (let number = 1; number <= 800; number++)
    if (!numbers.has(number))
      for (const [encoded] of Object.values(VALUES))
        assert.throws(
          () => readAuthorizationList(readTlv(sequence(explicit(number, encoded)))),
          Malformed,
          String(number),
        )
})

test('each identifier of an algorithm is that of its standard', () => {
  const algorithm = (id: string, ...more: readonly Buffer[]) =>
    readAlgorithm(readTlv(sequence(oid(id), ...more)))
  const rsa = (last: number) => `1.2.840.113549.1.1.${last}`
  const plain = (last: number) => `0.4.0.127.0.7.1.1.4.1.${last}`
  const nist = (last: number) => `2.16.840.1.101.3.4.2.${last}`
  for (const [digest, hash, pkcs1, ecdsa, concatenated] of [
    ['sha1', '1.3.14.3.2.26', rsa(5), '1.2.840.10045.4.1', plain(1)],
    ['sha224', nist(4), rsa(14), '1.2.840.10045.4.3.1', plain(2)],
    ['sha256', nist(1), rsa(11), '1.2.840.10045.4.3.2', plain(3)],
    ['sha384', nist(2), rsa(12), '1.2.840.10045.4.3.3', plain(4)],
    ['sha512', nist(3), rsa(13), '1.2.840.10045.4.3.4', plain(5)],
  ] as const) {
    for (const parameters of [[], [nothing()]]) {
      assert.equal(digestOf(algorithm(hash, ...parameters)), digest)
      for (const [id, scheme] of [
        [pkcs1, 'pkcs1'],
        [ecdsa, 'ecdsa'],
        [concatenated, 'ecdsa-plain'],
      ] as const) {
        assert.deepEqual(schemeOf(algorithm(id, ...parameters)), { scheme, digest })
        assert.equal(digestOf(algorithm(id, ...parameters)), undefined)
      }
    }
    assert.equal(digestOf(algorithm(hash, integer(1))), undefined)
    assert.equal(schemeOf(algorithm(pkcs1, integer(1))), undefined)
    assert.equal(schemeOf(algorithm(hash)), undefined)
  }
  assert.throws(() => algorithm(nist(1), nothing(), nothing()))
})

test('each root is the certificate that its authority publishes', () => {
  const digestsOf = (...pems: readonly string[]) =>
    pems.map((pem) => new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase())
  assert.deepEqual(
    digestsOf(APP_ATTESTATION_ROOT, APPLE_ROOT_G3, APPLE_WEBAUTHN_ROOT, FIDO_METADATA_ROOT),
    [
      '1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932',
      '63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179',
      '0915dd5c07a28db549d1f677bb5a75d4bfbe9561a773424327762e9e02f9bb29',
      'cbb522d7b7f127ad6a0113865bdf1cd4102e7d0759af635a7cf4720dc963c53b',
    ],
  )
  assert.deepEqual(digestsOf(...GOOGLE_ROOT_CERTIFICATES), [
    'cedb1cb6dc896ae5ec797348bce9286753c2b38ee71ce0fbe34a9a1248800dfc',
    '6d9db4ce6c5c0b293166d08986e05774a8776ceb525d9e4329520de12ba4bcc0',
  ])
  assert.equal(GOOGLE_STATUS_URL, 'https://android.googleapis.com/attestation/status')
})

test('the keys of Android browsers are in two packages of one signer', () => {
  const signer = 'f0fd6c5b410f25cb25c3b53346c8972fae30f8ee7411df910480ad6b2d60db83'
  assert.deepEqual(BROWSER_KEY_STORES, [
    { package: 'com.google.android.gms', certificateDigests: [signer] },
    { package: 'com.google.android.gsf', certificateDigests: [signer] },
  ])
})

test('each attribute of a name is under its identifier, whatever its string type', () => {
  const expected = [
    ['commonName', '2.5.4.3', utf8('Größe'), 'Größe'],
    ['serialNumber', '2.5.4.5', printable('F9'), 'F9'],
    ['country', '2.5.4.6', printable('DE'), 'DE'],
    ['organization', '2.5.4.10', der.element(0x1e, Buffer.from([0x20, 0xac])), '€'],
    ['unit', '2.5.4.11', utf8('One'), 'One'],
  ] as const
  const name = readName(
    readTlv(sequence(...expected.map(([, id, value]) => setOf(sequence(oid(id), value))))),
  )
  for (const [attribute, id, , text] of expected) {
    assert.equal(ATTRIBUTE[attribute], id)
    assert.equal(name.attributes.get(id), text)
  }
})

/** ISO 3166-1: alpha-3, and alpha-2 as the two letters behind it. */
const COUNTRIES = `
ABW AW AFG AF AGO AO AIA AI ALA AX ALB AL AND AD ARE AE ARG AR ARM AM ASM AS ATA AQ ATF TF ATG AG
AUS AU AUT AT AZE AZ BDI BI BEL BE BEN BJ BES BQ BFA BF BGD BD BGR BG BHR BH BHS BS BIH BA BLM BL
BLR BY BLZ BZ BMU BM BOL BO BRA BR BRB BB BRN BN BTN BT BVT BV BWA BW CAF CF CAN CA CCK CC CHE CH
CHL CL CHN CN CIV CI CMR CM COD CD COG CG COK CK COL CO COM KM CPV CV CRI CR CUB CU CUW CW CXR CX
CYM KY CYP CY CZE CZ DEU DE DJI DJ DMA DM DNK DK DOM DO DZA DZ ECU EC EGY EG ERI ER ESH EH ESP ES
EST EE ETH ET FIN FI FJI FJ FLK FK FRA FR FRO FO FSM FM GAB GA GBR GB GEO GE GGY GG GHA GH GIB GI
GIN GN GLP GP GMB GM GNB GW GNQ GQ GRC GR GRD GD GRL GL GTM GT GUF GF GUM GU GUY GY HKG HK HMD HM
HND HN HRV HR HTI HT HUN HU IDN ID IMN IM IND IN IOT IO IRL IE IRN IR IRQ IQ ISL IS ISR IL ITA IT
JAM JM JEY JE JOR JO JPN JP KAZ KZ KEN KE KGZ KG KHM KH KIR KI KNA KN KOR KR KWT KW LAO LA LBN LB
LBR LR LBY LY LCA LC LIE LI LKA LK LSO LS LTU LT LUX LU LVA LV MAC MO MAF MF MAR MA MCO MC MDA MD
MDG MG MDV MV MEX MX MHL MH MKD MK MLI ML MLT MT MMR MM MNE ME MNG MN MNP MP MOZ MZ MRT MR MSR MS
MTQ MQ MUS MU MWI MW MYS MY MYT YT NAM NA NCL NC NER NE NFK NF NGA NG NIC NI NIU NU NLD NL NOR NO
NPL NP NRU NR NZL NZ OMN OM PAK PK PAN PA PCN PN PER PE PHL PH PLW PW PNG PG POL PL PRI PR PRK KP
PRT PT PRY PY PSE PS PYF PF QAT QA REU RE ROU RO RUS RU RWA RW SAU SA SDN SD SEN SN SGP SG SGS GS
SHN SH SJM SJ SLB SB SLE SL SLV SV SMR SM SOM SO SPM PM SRB RS SSD SS STP ST SUR SR SVK SK SVN SI
SWE SE SWZ SZ SXM SX SYC SC SYR SY TCA TC TCD TD TGO TG THA TH TJK TJ TKL TK TKM TM TLS TL TON TO
TTO TT TUN TN TUR TR TUV TV TWN TW TZA TZ UGA UG UKR UA UMI UM URY UY USA US UZB UZ VAT VA VCT VC
VEN VE VGB VG VIR VI VNM VN VUT VU WLF WF WSM WS YEM YE ZAF ZA ZMB ZM ZWE ZW`
/** Doc 9303-3, section 5: issuers without a code of their own. */
const OTHERS = `
D DE EUE EU UNO UN UNA UN UNK UN RKS KS RKS XK XOM XM XOM XO XPO XP XCC XC GBD GB GBD BM GBN GB
GBO GB GBP GB GBS GB CHN HK CHN MO UTO UT`

test('the certificate of a state signs the documents of that state, and of no other', () => {
  const words = `${COUNTRIES}${OTHERS}`.trim().split(/\s+/)
  const pairs = new Set<string>()
  for (let at = 0; at < words.length; at += 2) pairs.add(`${words[at]} ${words[at + 1]}`)
  assert.equal(pairs.size, 249 + 20)
  const [states, countries] = [0, 1].map((side) =>
    Array.from(new Set(Array.from(pairs, (pair) => pair.split(' ')[side] ?? ''))),
  ) as [string[], string[]]
  for (const state of [...states, 'XXX', '', 'DE'])
    for (const country of [...countries, 'ZZ', '', 'D'])
      assert.equal(
        isCountryOf(state, country),
        pairs.has(`${state} ${country}`),
        `${state} ${country}`,
      )
})
