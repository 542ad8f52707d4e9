// The operations on owners and scopes, and those of the profile `context`.
import { Service } from '@deepseek-ai/cordis'
import { NamedEntries, ScopedLayers, scopeChainOf, scopeOf, scopeParentOf } from '@deepseek-ai/dsh-scope'
import { Started, owned, refer } from './commands.mjs'
import { callable } from './functions.mjs'
import { KINDS } from './kinds.mjs'
import { Fault, isAwaitable } from './values.mjs'

const orNull = (key, world) => (key === undefined ? null : refer(key, world))
const plain = () => undefined

/** The plugin of a name: the same one where it is known, else one with these requirements and this body. */
function pluginOf(world, { owner, plugin = owner, name = owner, requires = [], body }, again) {
  const { plugins } = world.places
  if (again && plugins.has(plugin)) return plugins.get(plugin)
  const work = body === undefined ? plain : callable(world, body, KINDS.body(world))
  const made = { name, inject: requires, apply: (context, config) => work(context, config) }
  plugins.set(plugin, made)
  return made
}

/** A service with one layered table, into which it files what is added, or passes it on to another service. */
function layeredService(world, { service, key, forwards }) {
  const made = class extends Service {
    static inject = forwards === undefined ? [] : [forwards]

    layers = new ScopedLayers(() => new NamedEntries((name) => new Error(`"${name}" is there already`)), plain)

    constructor(context) {
      super(context, key)
      world.places.services.set(service, this)
    }

    add(name) {
      if (forwards !== undefined) return this.ctx[forwards].add(name)
      return this.layers.effect(this.ctx, (table) => table.insert(name, name), { label: name })
    }
  }
  return Object.defineProperty(made, 'name', { value: service })
}

/** What a disposer answers: an awaitable that a task may follow, or nothing. */
export const disposed = (answer) =>
  (isAwaitable(answer) ? new Started(Promise.resolve(answer), { result: 'awaitable' }) : 'nothing')

export const OWNERS = {
  'owner.open'({ in: place, config, ...args }, { world }) {
    const context = world.context(place)
    const plugin = pluginOf(world, args, args.plugin !== undefined)
    world.places.mount(args.owner, () => context.plugin(plugin, config).ctx)
  },
  'owner.close': ({ owner }, { world }) => disposed(world.places.fiber(owner).dispose()),
  'owner.state': ({ owner }, { world }) => world.places.state(owner),
  'owner.wait': ({ owner }, { world }) => new Started(world.places.fiber(owner).await().then(plain)),
  'owner.restart': ({ owner }, { world }) => new Started(world.places.fiber(owner).restart()),

  'scope.open'({ scope, key = scope, parent, in: place }, { world }) {
    world.places.openScope(scope, world.context(place), world.scope(key), world.scope(parent))
  },
  'scope.close'({ scope }, { world }) {
    const { closeScope } = world.places.fiber(scope)
    if (closeScope === undefined) throw new Fault(`${JSON.stringify(scope)} is no scope`)
    return new Started(closeScope())
  },
  'scope.bind'({ as, key, parent }, { world }) {
    world.places.bind(as, world.scope(key), world.scope(parent))
  },
  'scope.rebind'({ of, parent }, { world }) {
    world.places.binding(of).rebind(world.scope(parent))
  },
  'scope.of': ({ in: place }, { world }) => orNull(scopeOf(world.context(place)), world),
  'scope.parent': ({ key }, { world }) => orNull(scopeParentOf(world.scope(key)), world),
  'scope.chain': ({ key }, { world }) => scopeChainOf(world.scope(key)).map((one) => refer(one, world)),
}

export const CONTEXT = {
  'ctx.derive'({ context, values = {}, in: place }, { world }) {
    world.places.derived(context, world.context(place).extend(values))
  },
  'ctx.isolate'({ context, key, label, in: place }, { world }) {
    const realm = label === undefined ? undefined : world.places.label(label)
    world.places.derived(context, world.context(place).isolate(key, realm))
  },
  'ctx.provide'({ as, key, value, in: place }, { world }) {
    owned(world, as, world.context(place).provide(key, value))
  },
  'ctx.accessor'({ as, key, value, in: place }, { world }) {
    owned(world, as, world.context(place).accessor(key, { get: () => value }))
  },
  'ctx.get': ({ key, in: place }, { world }) => world.context(place).get(key),
  'ctx.read': ({ key, in: place }, { world }) => world.context(place)[key],
  'ctx.assertActive': ({ in: place }, { world }) => world.context(place).fiber.assertActive(),

  'target.new'({ target, filter, base, ...args }, { world }) {
    world.places.target(target, {
      base,
      filter: filter === undefined ? undefined : callable(world, filter, KINDS.filter),
      carried: 'key' in args ? { key: args.key === null ? undefined : world.scope(args.key) } : undefined,
    })
  },
  dispatch({ mode, event, args = [], to, default: inner, in: place }, { world }) {
    const receiver = to === undefined ? [] : [world.places.receiver(to)]
    const last = inner === undefined ? plain : callable(world, inner, KINDS.default)
    const answer = world.context(place)[mode](...receiver, event, ...args, ...(mode === 'waterfall' ? [last] : []))
    if (!isAwaitable(answer)) return answer
    return new Started(Promise.resolve(answer), { result: mode === 'waterfall' ? { $value: 'awaitable' } : null })
  },
  observe({ as, fn, in: place }, { world }) {
    owned(world, as, world.context(place).on('internal/dispatch', callable(world, fn, KINDS.observer)))
  },

  'service.open'({ in: place, ...args }, { world }) {
    const context = world.context(place)
    world.places.mount(args.service, () => context.plugin(layeredService(world, args)).ctx)
  },
  'service.add'({ key, as, name, in: place }, { world }) {
    owned(world, as, world.context(place)[key].add(name))
  },
  'service.view'({ service, scope }, { world }) {
    const { layers } = world.places.receiver({ service })
    return [...layers.merge(world.scope(scope), (table) => table).keys()]
  },
}
