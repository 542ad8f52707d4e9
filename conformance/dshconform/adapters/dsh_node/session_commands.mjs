// The commands of the profile `session`: the store, and the folds over a log.
import {
  canonicalHeader, deriveEventMessage, foldRequestHeader, foldSurface, headerEquals,
} from '@deepseek-ai/dsh-session'
import { Started, owned, refer } from './commands.mjs'
import { equal } from './kinds.mjs'
import { Fault, at, show } from './values.mjs'

/** The folds besides that of an agent's work. */
const FOLDS = {
  surface: ({ events }) => foldSurface(events),
  requestHeader: ({ events, from }) => foldRequestHeader(events, from),
  canonical: ({ header }) => canonicalHeader(header),
  equal: ({ a, b }) => headerEquals(a, b),
  message: ({ event }) => deriveEventMessage(event),
}

/** An operation of the store, called through one context, which need not have asked for the store. */
const store = (work) => ({ in: place, ...args }, { world }) => work(world.context(place).get('sessions'), args, world)

/** An operation that makes a session, which has its name from its first notification on. */
const making = (work) => store((sessions, { session: name, ...args }, world) => {
  const session = world.making(name, () => work(sessions, args, world))
  world.bindSession(name, session)
  return session.id
})

const given = (names, args) =>
  Object.fromEntries(names.filter((name) => args[name] !== undefined).map((name) => [name, args[name]]))

const source = (which, world) =>
  (typeof which === 'object' && which !== null && 'id' in which ? which.id : world.session(which))

export const SESSION = {
  'session.create': making((sessions, { id, ...args }) => sessions.create(id, given(['meta', 'seed'], args))),
  'session.prepare': making((sessions, { id, ...args }) => sessions.prepare(id, given(['meta', 'seed'], args))),
  'session.restore': making((sessions, { id, header, events }) =>
    sessions.prepare(id, { seedSource: 'persistence', seed: events, meta: header })),
  'session.enter': store((sessions, { session, as }, world) => {
    owned(world, as, sessions.enter(world.session(session)))
  }),
  'session.announce': store((sessions, { session }, world) => sessions.announce(world.session(session))),
  'session.get': store((sessions, { id }, world) => refer(sessions.get(id), world)),
  'session.list': store((sessions, _, world) => sessions.list().map((session) => refer(session, world))),
  'session.fork': making((sessions, { source: which, boundary, id }, world) =>
    sessions.fork(source(which, world), boundary, id)),
  'session.flush': store((sessions, { session }, world) => new Started(sessions.flush(world.session(session)))),
  'session.refuse'({ session, when, error = new Error('refused') }, { world }) {
    refusals(world).push({ session: world.session(session), when, error })
  },
}

const REFUSALS = new WeakMap()

/** What shall be refused. An observer of dispatches is told of an event before its commit: there it can be stopped. */
function refusals(world) {
  if (!REFUSALS.has(world)) {
    const waiting = []
    REFUSALS.set(world, waiting)
    world.root.on('internal/dispatch', (_mode, name, [session, event]) => {
      if (name !== 'session/event') return
      const index = waiting.findIndex((one) => one.session === session && fits(one.when, event, world))
      if (index >= 0) throw waiting.splice(index, 1)[0].error
    }, { global: true })
  }
  return REFUSALS.get(world)
}

function fits(when, event, world) {
  const shown = show(event, world)
  return Object.entries(when).every(([path, wanted]) => equal(at(shown, path), wanted))
}

/** A fold by its name. */
export function fold({ what, ...of }) {
  if (what in FOLDS) return FOLDS[what](of)
  throw new Fault(`there is no fold "${what}"`)
}
