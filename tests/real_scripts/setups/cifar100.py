"""Two epochs."""


def before(work, spec):
    import conf
    conf.settings.EPOCH = 2
