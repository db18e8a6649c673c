export * from './cose-key.ts'
export * from './split-map.ts'
export * from './strict-cbor.ts'
