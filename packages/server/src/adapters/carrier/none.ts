import type { CarrierProvider } from '@bonded/core/ports/carrier'

/** Queries no carrier. The finding proves nothing and does not count against the phone. */
export const noCarrier: CarrierProvider = {
  async check() {
    return {
      finding: {
        device_status: 'unknown',
        number_verified: false,
        sim_swap_recent: false,
        source: 'none',
      },
    }
  },
}
