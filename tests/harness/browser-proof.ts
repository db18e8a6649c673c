/** A proof of a browser that has the form of one, and belongs to no session. */
export const BROWSER_PROOF = {
  commitment: 'A'.repeat(43),
  assertion: {
    id: 'AAAA',
    type: 'public-key',
    response: {
      clientDataJSON: 'AAAA',
      authenticatorData: 'A'.repeat(52),
      signature: 'A'.repeat(16),
    },
  },
}
