/** How far the clock of this process is ahead of the machine's. Timers are not moved. */
export const ahead = { ms: 0 }

const MachineDate = Date
globalThis.Date = new Proxy(MachineDate, {
  construct: (target, args: unknown[], as) =>
    Reflect.construct(target, args.length === 0 ? [Date.now()] : args, as) as Date,
  get: (target, name) =>
    name === 'now' ? () => target.now() + ahead.ms : (Reflect.get(target, name) as unknown),
})
