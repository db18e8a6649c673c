import { weierstrass } from '@noble/curves/abstract/weierstrass.js'
import { type Curve, numberOf } from '../passport/curves.ts'
import type { EcdsaSignature } from '../passport/ecdsa.ts'

/**
 * Verifies an ECDSA signature (FIPS 186-5, section 6.4.2) with the arithmetic of `@noble/curves`,
 * which works on any curve.
 *
 * @throws where the point is not on the curve
 */
export function verifyEcdsaInJavaScript({ curve, point, digest, r, s }: EcdsaSignature): boolean {
  const order = numberOf(curve.n)
  // 1. Both numbers are in range. Zero would let any message pass.
  if (r < 1n || r >= order || s < 1n || s >= order) return false
  // 2. The leftmost bits of the digest, as many as the order has.
  const excess = Math.max(0, digest.length * 8 - order.toString(2).length)
  const e = numberOf(Buffer.from(digest).toString('hex')) >> BigInt(excess)
  // 3. The point of the two products, whose x coordinate must be r.
  const Point = pointsOf(curve)
  const inverse = Point.Fn.inv(s)
  const sum = Point.BASE.multiplyUnsafe(Point.Fn.create(e * inverse)).add(
    Point.fromBytes(point).multiplyUnsafe(Point.Fn.create(r * inverse)),
  )
  return !sum.is0() && sum.toAffine().x % order === r
}

const known = new Map<Curve, ReturnType<typeof weierstrass<bigint>>>()

function pointsOf(curve: Curve): ReturnType<typeof weierstrass<bigint>> {
  const { p, a, b, g, n } = curve
  const points =
    known.get(curve) ??
    weierstrass<bigint>({
      p: numberOf(p),
      n: numberOf(n),
      h: 1n,
      a: numberOf(a),
      b: numberOf(b),
      Gx: numberOf(g.slice(2, 2 + p.length)),
      Gy: numberOf(g.slice(2 + p.length)),
    })
  known.set(curve, points)
  return points
}
