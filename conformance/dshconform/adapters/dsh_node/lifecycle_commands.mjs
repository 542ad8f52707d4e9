// The commands of the profile `lifecycle`: resuming, the registry and its factory, initiators, parts that come and go.
import { Service } from '@deepseek-ai/cordis'
import { createScope } from '@deepseek-ai/dsh-scope'
import { SessionPreparation } from '@deepseek-ai/dsh-session'
import { Started, owned, refer } from './commands.mjs'
import { callable } from './functions.mjs'
import { KINDS } from './kinds.mjs'
import { Fault, isAwaitable } from './values.mjs'

const plain = () => undefined

/** Begin to make an agent, which has its name from its setup on; `begin` gets what creating and resuming have in common. */
export function made(world, name, { options, signal, setup }, begin) {
  const composed = setup === undefined ? plain : callable(world, setup, KINDS.setup)
  const making = begin({
    ...(options === undefined ? {} : { agentOptions: options }),
    ...(signal === undefined ? {} : { signal }),
    setup(context) {
      world.bind(name, context.agent)
      return composed(context)
    },
  })
  return new Started(making.then((handle) => {
    world.handles.set(name, handle)
    return handle
  }), { value: ({ agent }) => refer(agent, world) })
}

/** The synchronous creation of the loop: the agent has its name as soon as its session appears. */
export function createNow(world, { id, name, options, meta, place }) {
  const { agentLoop } = world.context(place)
  world.bind(name, world.making(name, () => agentLoop.create(id, options, meta)))
  return refer(world.agent(name), world)
}

/** A store of sessions that asks the suite for each. */
export function stubPersistence(world, { load, list, release }) {
  const asked = (spec, kind) => (spec === undefined ? kind.pass ?? plain : callable(world, spec, kind))
  const loads = asked(load, KINDS.store.load)
  const lists = asked(list, KINDS.store.list)
  const releases = asked(release, KINDS.store.release)
  return class extends Service {
    static inject = ['sessions']

    constructor(context) {
      super(context, 'sessionPersistence')
    }

    async prepare(id, signal) {
      const { sessions } = this.ctx
      if (sessions.get(id) !== undefined) throw new Error(`cannot prepare session "${id}" while it is live`)
      const stored = await loads(id, signal)
      if (stored === null || stored === undefined) throw new Error(`session "${id}" not found`)
      const { header: meta, events: seed } = stored
      const session = sessions.prepare(id, { seedSource: 'persistence', seed, meta })
      return SessionPreparation.create(session, { release: () => releases(id) })
    }

    async list() {
      return (await lists()).map((id) => ({ id }))
    }
  }
}

/** The registry as one context sees it; through the root, the last one that there was. */
const agents = (world, place) => {
  const registry = place === undefined ? world.root.get('agents') ?? world.registry : world.context(place).agents
  if (registry === undefined) throw new Fault('there has been no registry of agents')
  return registry
}

const registry = (work) => ({ in: place, ...args }, { world }) => work(agents(world, place), args, world)

const initiator = (agent, world) => (agent === undefined ? null : refer(agent, world))

/** What is shaped like an agent, with a scope of its own, and is driven by nobody. */
function stubAgent(world, id, session) {
  const stub = { id, session, options: {}, status: 'idle' }
  stub.ctx = createScope(world.root, stub).ctx.extend({ agent: stub })
  return stub
}

export const LIFECYCLE = {
  'agent.resume'({ agent: id, handle: name = id, in: place, ...args }, { world }) {
    const { agents } = world.context(place)
    return made(world, name, args, (common) => agents.resume({ resumeSessionId: id, ...common }))
  },

  'registry.owns': registry((all, { id, owner }, world) => all.isOwnedBy(id, world.agent(owner))),
  'registry.stub'({ agent: name, id, session }, { world }) {
    const stub = stubAgent(world, id, world.session(session))
    world.agents.set(name, stub)
    world.name(name, stub)
  },
  'registry.enter': registry((all, { agent, as, owner }, world) => {
    owned(world, as, all.enter(world.agent(agent), owner === undefined ? undefined : world.agent(owner)))
  }),
  'registry.announce': registry((all, { agent }, world) => all.announce(world.agent(agent))),
  'registry.register': registry((all, { agent, as }, world) => {
    owned(world, as, all.register(world.agent(agent)))
  }),
  'registry.setFactory': registry((all, { as, create, resume }, world) => {
    const stub = (name) => ({ agent: world.agent(name), dispose: async () => undefined })
    owned(world, as, all.setFactory({
      createAgent: callable(world, create, KINDS.factory(world, 'create', stub)),
      resume: callable(world, resume, KINDS.factory(world, 'resume', stub)),
    }))
  }),

  'initiator.current': registry((all, _, world) => initiator(all.currentInitiator(), world)),
  'initiator.require': registry((all, _, world) => initiator(all.requireInitiator(), world)),
  'initiator.run': registry((all, { agent, fn }, world) => {
    const work = callable(world, fn, KINDS.boundary)
    const answer = agent === null ? all.withoutInitiator(work) : all.withInitiator(world.agent(agent), work)
    if (!isAwaitable(answer)) return answer
    return new Started(Promise.resolve(answer), { result: { $value: 'awaitable' } })
  }),

  'world.load': ({ part, config = {} }, { world }) => new Started(world.load(part, config)),
  'world.unload': ({ part }, { world }) => new Started(Promise.resolve(world.unload(part)).then(plain)),

  'ctx.value': ({ name, in: place }, { world }) => world.context(place)[name],
}
