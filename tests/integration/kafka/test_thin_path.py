def test_the_cut_from_the_changelogs_equals_the_embedded_engines(cluster, embedded):
    cluster.create()
    cluster.fill()
    cluster.start_all()
    told = cluster.bridge()
    assert told.sent > 200
    cluster.wait_settled()
    cluster.check(embedded)
    assert cluster.dead() == {}
