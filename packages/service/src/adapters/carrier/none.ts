import type { CarrierProvider } from '../../ports/carrier.ts'

/** No carrier is asked. Nothing is proved, and nothing is held against the phone. */
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
