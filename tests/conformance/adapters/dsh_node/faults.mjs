// Faults of the published packages, planted at run time: `node --import faults.mjs adapter.mjs NAME`.
//
// Each takes the place of a method of theirs for the life of the process; nothing of theirs is written anew on disk.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [, adapter, name] = process.argv
const packages = createRequire(adapter)
const load = (specifier) => import(pathToFileURL(packages.resolve(specifier)))
const { AgentRegistry, Inbox } = await load('@deepseek-ai/dsh-agent')
const { SessionStore } = await load('@deepseek-ai/dsh-session')

/** Put something in the place of a method, made from the method. */
function wrap(owner, method, make) {
  const original = owner[method]
  if (typeof original !== 'function') throw new Error(`there is no method "${method}" any more: the fault must follow`)
  owner[method] = make(original)
}

/** Change every driver before it is told to anybody; their class is not exported. */
function drivers(change) {
  wrap(AgentRegistry.prototype, 'enter', (enter) => function (agent, ...rest) {
    if ('phase' in agent) change(agent)
    return enter.call(this, agent, ...rest)
  })
}

const aborted = ({ phase }) => phase.kind !== 'idle' && phase.abort.signal.aborted

const FAULTS = {
  'prompt-is-claimed-first': () => wrap(Inbox.prototype, 'claim', () => function (target, turn) {
    const prompts = target === 'next-turn' ? this.mutate('next-turn', 0, 1, [], false) : []
    const batch = [...prompts, ...this.mutate('next-step', 0, this.nextStep.length, [], false)]
    for (const message of batch) this.notifications.claimed(message, turn)
    return batch
  }),
  'every-prompt-is-claimed': () => wrap(Inbox.prototype, 'claim', () => function (target, turn) {
    const batch = this.mutate('next-step', 0, this.nextStep.length, [], false)
    if (target === 'next-turn') batch.push(...this.mutate('next-turn', 0, this.nextTurn.length, [], false))
    for (const message of batch) this.notifications.claimed(message, turn)
    return batch
  }),
  'inserted-is-told-before-discarded': () => wrap(Inbox.prototype, 'mutate', (mutate) => function (...args) {
    const told = []
    const later = (kind) => (...message) => told.push([kind, message])
    const { notifications } = this
    this.notifications = { ...notifications, inserted: later('inserted'), discarded: later('discarded') }
    try {
      return mutate.apply(this, args)
    } finally {
      this.notifications = notifications
      for (const kind of ['inserted', 'discarded']) {
        for (const [one, message] of told) if (one === kind) notifications[kind](...message)
      }
    }
  }),
  'splice-is-logged-after-the-change': () => wrap(Inbox.prototype, 'mutate', (mutate) => function (...args) {
    const { session } = this
    const [target] = args
    const list = this.state[target]
    const append = (type, data) => {
      const before = [...list]
      list.splice(data.start, data.removedCount ?? 0, ...data.inserted)
      try {
        return session.append(type, data)
      } finally {
        list.splice(0, list.length, ...before)
      }
    }
    this.session = { append }
    try {
      return mutate.apply(this, args)
    } finally {
      this.session = session
    }
  }),
  'latch-survives-a-clearing-cancel': () => drivers((agent) => wrap(agent, 'cancel', (cancel) => function (...args) {
    const latched = this.phase.wakeRequested
    cancel.apply(this, args)
    if (latched) this.phase.wakeRequested = true
  })),
  'late-wake-is-parked': () => drivers((agent) => wrap(agent, 'wakeDriver', (wake) => function () {
    if (this.phase.kind === 'idle') wake.call(this)
  })),
  'late-steer-keeps-its-list': () => drivers((agent) => wrap(agent, 'send', (send) => function (message, target, wakeup) {
    const late = wakeup && aborted(this) && target in this.inbox.state
    send.call(this, message, target, wakeup && !late)
    if (late) this.wakeDriver(true)
  })),
  'what-is-to-be-kept-is-cleared': () => drivers((agent) => wrap(agent, 'cancel', (cancel) => function (cause) {
    cancel.call(this, cause)
  })),
  'aborts-before-it-clears': () => drivers((agent) => wrap(agent, 'cancel', (cancel) => function (cause, options) {
    cancel.call(this, cause, { keepInbox: true })
    if (options?.keepInbox !== true) cancel.call(this, cause, options)
  })),
  'cancel-of-an-idle-agent-aborts-its-next-turn': () => drivers((agent) => {
    let pending
    wrap(agent, 'cancel', (cancel) => function (cause, options) {
      if (this.phase.kind === 'idle') pending = { cause }
      cancel.call(this, cause, options)
    })
    wrap(agent, 'setPhase', (setPhase) => function (next) {
      setPhase.call(this, next)
      if (next.kind === 'running' && pending !== undefined) next.abort.abort(pending.cause)
      pending = undefined
    })
  }),
  'status-is-told-twice': () => drivers((agent) => wrap(agent, 'setPhase', (setPhase) => function (next) {
    setPhase.call(this, next)
    this.dispatch.emit('agent/status', { status: this.status })
  })),
  'nobody-is-asked-before-a-turn-ends': () => drivers((agent) => { agent.dispatch.serial = async () => undefined }),
  'every-failed-request-is-tried-again': () => drivers((agent) => {
    let tried = false
    wrap(agent.dispatch, 'waterfall', (waterfall) => (event, ...rest) => {
      if (event !== 'agent/request-error' || tried) return waterfall(event, ...rest)
      tried = true
      return waterfall(event, ...rest).then((action) => action ?? { kind: 'retry' })
    })
  }),
  'disposed-agent-stays-registered': () => wrap(AgentRegistry.prototype, 'detachEntered', () => function (entry) {
    if (entry.announced) this.emitDisposed(entry)
  }),
  'rollback-leaves-the-id-taken': () => wrap(SessionStore.prototype, 'announce', (announce) => function (session) {
    try {
      announce.call(this, session)
    } catch (error) {
      this.store.get(session.id).detach = () => {}
      throw error
    }
  }),
  'disposed-session-stays-in-its-store': () => wrap(SessionStore.prototype, 'detachEntered', (detach) => function (entry) {
    detach.call(this, entry)
    this.store.set(entry.id, entry)
  }),
  'initiator-leaks': () => wrap(AgentRegistry.prototype, 'withoutInitiator', () => function (operation) {
    return operation()
  }),
  'owner-is-not-remembered': () => wrap(AgentRegistry.prototype, 'isOwnedBy', () => () => false),
  'session-is-told-gone-before-its-agent': () => wrap(AgentRegistry.prototype, 'detachEntered', (detach) => function (entry) {
    entry.agent.ctx.sessions.store.get(entry.id)?.detach()
    detach.call(this, entry)
  }),
}

if (!(name in FAULTS)) throw new Error(`there is no fault "${name}"`)
FAULTS[name]()
